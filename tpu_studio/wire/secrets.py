"""What looks like a credential, cut out of words before anybody keeps or shows them. Standard library only.

A person's own program may print a key, a library's error may quote one. Three things give a key away: its shape
(``hf_…``, ``AKIA…``, behind a letter, too), the name it is set to (``password = …``), and that it is the value of a
variable of this environment that is named like one (``WANDB_API_KEY``). What is cut leaves "…" behind.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from tpu_studio.wire.visible import bare

CUT = "…"
WIDEST = 5_000
"""Letters of the longest credential: a web token has 4,000 and a signature."""
_FOLLOWS = r"\\?[\"']?\]?\s*(?:=>|=|:)\s*\\?[\"']?"  # between a name and what it is set to, in Python, JSON, a shell
_EDGE = r"(?:\b|(?<=\\[nrt]))"  # where a word begins, also behind an end of a line that is written out
_END, _LONGEST_KEY = "-----END ", 200
_OF_A_KEY = re.compile(r"[A-Za-z0-9+/=]*|[A-Za-z-]+: .*")  # base64; what an encrypted key says of itself
_PUTTY = re.compile(r"\bPrivate-Lines: *([0-9]{1,3})\s*$")
_OF_CURL = [  # name:password, name=value and a password alone; in quotes up to their end
    re.compile(
        rf"([\s\"'](?:{option})[\s\"',=]{{0,9}})(?:(?<=\"){word}[^\"\n]{{1,500}}|(?<='){word}[^'\n]{{1,500}}|{word}\S+)"
    )
    for option, word in (
        (r"-[A-WYZa-z]{0,5}[uUE]|--(?:proxy-)?(?:user|cert)(?=[\s\"'=])", r"[^\s:\"']{1,100}:"),
        (r"-[A-WYZa-z]{0,5}b|--cookie(?=[\s\"'=])", r"[^\s=\"']{1,100}="),
        (r"--(?:(?:proxy-)?(?:pass|tlspassword)|oauth2-bearer)(?=[\s\"'=])", ""),
    )
]
_ENTRY = re.compile(r"\s*(?:machine\s+\S+|default)(?:\s+(?:login|user|account)\s+\S+){0,2}\s*")  # of ~/.netrc begins
_OF_ENTRY = re.compile(r"(\s*(?:(password)|login|user|account)\s+)\S+\s*")
_SHAPES: list[
    tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]
] = [  # each of them looks ahead a bounded way: a line may be a megabyte
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*-----|$)", re.S), CUT),
    (re.compile(r"(?<=[a-z]://)[^\s/@:\"']{0,200}:[^\s\"']{1,500}@"), ""),  # a name and a password in an address
    (
        re.compile(
            r"(?:hf|api_org)_[A-Za-z0-9]{16,}"  # Hugging Face
            r"|KGAT_[A-Za-z0-9]{16,}|wandb_v1_\w{16,}"  # Kaggle, Weights & Biases
            # OpenAI, Anthropic
            r"|sk-(?:(?:proj|svcacct|admin|or-v1|ant-[a-z0-9]{1,9})-[A-Za-z0-9_-]{30,}|(?=[a-z0-9]{0,60}[A-Z])[A-Za-z0-9]{40,})"
            r"|A(?:KI|SI|BI|CC)A[A-Z0-9]{16}(?![A-Z0-9])"  # Amazon
            r"|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9._-]{10,}|GOCSPX-[A-Za-z0-9_-]+"  # Google
            r"|1//0[A-Za-z0-9_-]{30,}"  # Google's refresh token
            r"|gh[a-z]_[A-Za-z0-9]{30,}|github_pat_\w{20,}"
            r"|gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{16,}(?:\.[a-z0-9]{2}\.[a-z0-9]{9})?"  # GitLab
            r"|xox[a-z]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{20,}"  # Slack
            r"|[rs]k_live_[A-Za-z0-9]{16,}|xai-\w{70,}|dapi[0-9a-f]{32}(?![0-9a-f])"  # Stripe, xAI, Databricks
            r"|pypi-[A-Za-z0-9_-]{40,}|npm_[A-Za-z0-9]{30,}|nvapi-[A-Za-z0-9_-]{20,}"
            r"|(?:r8|gsk)_[A-Za-z0-9]{30,}|dckr_[op]at_[A-Za-z0-9_-]{20,}"
            r"|key-[0-9a-f]{32}(?![0-9a-f])"  # Mailgun
            r"|SG\.[\w-]{22}\.[\w-]{43}|hooks\.slack\.com/(?:services|workflows|triggers)/[\w/-]{20,}"  # SendGrid
            # DigitalOcean, Shopify, Linear
            r"|do[opr]_v1_[0-9a-f]{40,}|shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}|lin_(?:api|oauth)_[A-Za-z0-9]{32,}"
            r"|[0-9]{8,10}:AA[\w-]{32,}|AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{40,}"  # Telegram
            r"|atlasv1\.[\w-]{30,}|hv[sbr]\.(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[A-Z])[\w-]{24,}"  # Terraform, Vault
            r"|/api/webhooks/[0-9]{17,20}/[\w-]{60,}"  # Discord: and a bot's, that begins with its number in base64
            r"|(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5,6}\w{0,4}\.[\w-]{6}\.[\w-]{27,38}"
            r"|(?<![A-Za-z0-9])r8_(?=[\w-]{0,36}\d)(?=[\w-]{0,36}[A-Z])[A-Za-z0-9_-]{37}(?![\w-])"  # Replicate
        ),
        CUT,
    ),
    (  # the same, shorter: behind a letter "task-…" and "layer1//…" are none
        re.compile(_EDGE + r"(?:sk-(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{16,}|1//[A-Za-z0-9._-]{16,})"),
        CUT,
    ),
    (  # a JSON web token: of letters that end with a dot those from the first "eyJ" on, looked for once
        re.compile(
            r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]*\.[A-Za-z0-9_-])([A-Za-z0-9_-]*?)"
            r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?"
        ),
        r"\1" + CUT,
    ),
    (re.compile(r"(?i)(authorization" + _FOLLOWS + r"(?:\w+\s+)?|bearer\s+)[A-Za-z0-9._~+/=-]{8,}"), r"\1" + CUT),
    (re.compile(r"(?i)(login\s+\S+\s+(?:account\s+\S+\s+)?password\s+)\S+"), r"\1" + CUT),  # a line of ~/.netrc
    (  # the same in another order
        re.compile(
            r"(\bmachine\s{1,40}(?=localhost\s|\S{0,250}[.\d])\S{1,255}"
            r"(?:(?:\s{1,40}(?:login|user|account)\s{1,40}\S{1,255}){1,3}\s{1,40}password\s{1,40}"
            r"|\s{1,40}password\s{1,40}(?=\S{1,255}(?:\s{1,40}(?:login|user|account)\s|\s{0,40}$))))\S+"
        ),
        r"\1" + CUT,
    ),
    (  # of a command
        re.compile(r"(?i)((?:--|(?<![\w-])-)(?:password|passwd|token|api[-_]key|secret)\s+)(?!-)[\"']?[^\s\"']{4,}"),
        r"\1" + CUT,
    ),
    (  # a line of .pgpass: host:port:database:user:password; groups of digits and a-f up to a blank are an address
        re.compile(
            r"(:(?:[0-9]{4,5}|\*):(?:[A-Za-z_][^\s:/]{0,62}|\*):(?:[A-Za-z_][^\s:/]{0,62}|\*):)"
            r"(?!(?:[0-9A-Fa-f]{1,4}:){0,5}[0-9A-Fa-f]{1,4}(?:[/%]\w{1,15})?[.,;:)\]\"']{0,9}(?:\s|$))"
            r"[\"']?[^\s\"']{4,}"
        ),
        r"\1" + CUT,
    ),
    (  # Google's code of a sign-in; behind a letter no name of a file that is a sum
        re.compile(
            r"(?:(?<![\w/.])|(?<=\\[nrt]))4(?:/|%2[Ff])0[Aa][A-Za-z0-9_-]{20,}"
            r"|(?<=[A-Za-z])4(?:/|%2[Ff])0A(?=[A-Za-z0-9_-]{0,20}[g-z])[A-Za-z0-9_-]{20,}"
        ),
        CUT,
    ),
    (  # a key of PuTTY's
        re.compile(
            r"(Private-Lines: *[0-9]{1,4}(?:[\r\n]|\\[rn])+)[A-Za-z0-9+/=]+"
            r"(?:(?:[\r\n]|\\[rn])+[A-Za-z0-9+/=]{4,}(?=[\r\n\\\"']|$))*"
        ),
        r"\1" + CUT,
    ),
    (re.compile(r"curl\b(?:\\\n|[^\n]){0,1000}\S*"), lambda found: _without_those_of_curl(found[0])),
    (re.compile(r"(?i)(" + _EDGE + r"(?:set-)?cookie:\s*)[^\s;]{1,100}=[^\n]{8,2000}"), r"\1" + CUT),
    (re.compile(r"([?&](?:sig|code)=)[A-Za-z0-9%/+_.-]{20,}"), r"\1" + CUT),  # Azure's signature, a sign-in's code
    (  # Amazon's and Google's
        re.compile(r"((?:\b|(?<=\\u0026))[Ss]ignature=)(?=[^\s&\"']{0,300}\d)[A-Za-z0-9%/+_.~-]{20,}"),
        r"\1" + CUT,
    ),
    (re.compile(r"(?i)(wandb[^\n]{0,40}?" + _EDGE + r")[0-9a-f]{40}\b"), r"\1" + CUT),
    (re.compile(r"([\"']key[\"']\s*:\s*[\"'])[0-9a-f]{32}\b"), r"\1" + CUT),  # kaggle.json
    (
        re.compile(
            r"(?i)((?:password|passwd|passphrase|access_token|refresh_token|id_token|client_secret|x-goog-signature)"
            + _FOLLOWS
            + r")(?![\"'\s…]|None\b|null\b|str\b|os\.|getpass|input\()[^\s\"'&,;)}\\]{4,}"
        ),
        r"\1" + CUT,
    ),
    (  # what a name may hold that is no key: a number, a word, a path
        re.compile(
            r"(?i)((?:token|secret|credentials?|(?:api|access|secret|private|account|auth|kaggle|signing|storage)[_-]?key)"
            + _FOLLOWS
            + r")(?:(?![-+.\d]+(?:e[-+]?\d+)?(?![\w/+=-]))(?=[^\s\"']{0,60}[A-Za-z])(?=[^\s\"']{0,60}\d)"
            r"[\w+=~%.-][\w+/=~%.-]{11,}|[A-Za-z]{32,}(?![\w.([-]))"  # of letters alone: longer than a word is
        ),
        r"\1" + CUT,
    ),
]
_HINT = re.compile(  # one of these is in whatever one of the shapes is in: most words are done after this
    r"-----|://|hf_|api_org_|KGAT_|sk-|A(?:KI|SI|BI|CC)A|AIza|ya29|1//|GOCSPX|gh[a-z]_|github_|gl(?:pat|[dr]t|ptt)-|xox|xapp-|k_live_|xai-|dapi|pypi-|npm_|nvapi|r8_|gsk_"
    r"|SG\.|hooks\.|/webhooks/|do[opr]_v1|shp|lin_|:AA|AGE-|atlasv1|hv[sbr]\.|[MNO][DTjz][AEIMQUYcgk][w-z0-5][MNO]"
    r"|dckr_|eyJ|[Aa]uth|AUTH|[Bb]earer|[Ll]ogin|[Ww]andb|WANDB|[Kk]ey|KEY|[Pp]ass|PASS|[Tt]oken|TOKEN|[Ss]ecret|SECRET"
    r"|[Cc]redential|CREDENTIAL|[Ss]ignature|curl|[Cc]ookie|sig=|code=|4/0A|4%2F0A"
    r"|Private-Lines|:(?:[0-9]{4,5}|\*):[A-Za-z_*]"
)
_NAMED = (
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "SECRET_KEY",
    "PRIVATE_KEY",
    "AUTH_KEY",
    "ACCOUNT_KEY",
    "KAGGLE_KEY",
    "CREDENTIALS",
)


@functools.cache
def held() -> tuple[str, ...]:
    """What variables of this process that are named like a credential are set to, where it could be one; longest first.
    Read once."""
    named = {value for name, value in os.environ.items() if name.upper().endswith(_NAMED)}
    likely = (value for value in named if len(value) >= 8 and value[0] not in "/~" and not value.isdigit())
    return tuple(sorted(likely, key=len, reverse=True))


def without_secrets(text: str) -> str:
    """*text* with everything that looks like a credential cut out."""
    text = _cut(text)
    seen = bare(text)
    if seen != text and (cut := _cut(seen)) != seen:  # a letter that shows as nothing was in a key
        return cut
    return text


def _cut(text: str) -> str:
    for value in held():
        text = text.replace(value, CUT)
    return _without_shapes(text)


def _without_shapes(text: str) -> str:
    if _HINT.search(text):
        for pattern, put in _SHAPES:
            text = pattern.sub(put, text)
    return text


def _without_those_of_curl(text: str) -> str:
    for pattern in _OF_CURL:
        text = pattern.sub(r"\1" + CUT, text)
    return text


def short(text: str, longest: int) -> str:
    """The first *longest* letters of *text* without what looks like a credential, also of one that goes on beyond."""
    return without_secrets(text[: longest + WIDEST])[:longest]


def line_of_secret(text: str) -> int | None:
    """The first line of a file, from 1, that holds what looks like a credential by itself; None: none does."""
    for number, line in enumerate(text.splitlines(), 1):
        seen = bare(line)
        if _without_shapes(seen) != seen:
            return number
    return None


def discreet(value: object) -> Any:
    """*value* with `without_secrets` of every string in it: a tree of plain JSON values."""
    if isinstance(value, str):
        return without_secrets(value) if len(value) > 3 else value
    if isinstance(value, Mapping):
        return {name: discreet(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(discreet(one) for one in value) if type(value) in (list, tuple) else value
    return value


class Lines:
    """Lines one after the other, of which some together may be a private key: it is cut from its first to its last;
    or an entry of ~/.netrc. Nothing else is cut: that is `without_secrets`, which takes longer.
    """

    def __init__(self) -> None:
        self._left = 0  # lines that may still belong to a key
        self._entry = 0  # lines that may still belong to an entry of ~/.netrc

    def take(self, line: str) -> str:
        """*line* without what is of a key; "" for what stands between the first and the last line of a key."""
        if self._left:
            ends = _END in line
            self._left = self._left - 1 if _OF_A_KEY.fullmatch(line.strip()) and not ends else 0
            return "" if ends or self._left else line
        begins = line.rfind("-----BEGIN ")
        if begins >= 0 and "PRIVATE KEY" in line[begins:] and _END not in line[begins:]:
            self._left = _LONGEST_KEY
            return line[:begins] + CUT
        if putty := _PUTTY.search(line):
            self._left = int(putty[1]) + 1
        return self._of_netrc(line)

    def _of_netrc(self, line: str) -> str:
        word = _OF_ENTRY.fullmatch(line) if self._entry else None
        self._entry = self._entry - 1 if word else 3 if _ENTRY.fullmatch(line) else 0
        return word[1] + CUT if word and word[2] else line
