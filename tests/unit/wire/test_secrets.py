"""Keys of every shape that a person's program or a library may print, and words that only look like one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tpu_studio.wire import secrets
from tpu_studio.wire.errors import ModelError, words_of
from tpu_studio.wire.secrets import Lines, discreet, line_of_secret, without_secrets

# Put together here, so that nothing that looks for keys in sources finds one.
SHAPED = {
    "Hugging Face": "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567",
    "OpenAI": "sk-proj-" + "Ab12" * 10,
    "Anthropic": "sk-ant-api03-" + "Ab1_" * 10,
    "Amazon": "AKIA" + "ABCDEFGH12345678",
    "Google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "Google, OAuth": "ya29." + "a0AfH6SMBx1234",
    "GitHub": "ghp_" + "a1B2" * 9,
    "Kaggle": "KGAT_" + "0123456789abcdef" * 2,
    "GitLab": "gldt-" + "aB1_" * 5,
    "GitLab, routable": "glpat-" + "aB1_" * 7 + ".01.0a1b2c3d4",
    "Slack": "xapp-" + "1-A0123-123-" + "0123456789abcdef" * 2,
    "Stripe": "sk_live_" + "aB1c" * 6,
    "xAI": "xai-" + "aB1c" * 20,
    "Databricks": "dapi" + "0123456789abcdef" * 2,
    "Docker": "dckr_oat_" + "aB1_" * 8,
    "SendGrid": "SG." + "aB1c" * 5 + "-_." + "aB1c" * 10 + "-_d",
    "Slack, a way in": "hooks.slack.com/services/" + "T0AB1C2D3/B0AB1C2D3/" + "aB1c" * 6,
    "DigitalOcean": "dop_v1_" + "0123456789abcdef" * 4,
    "Shopify": "shpat_" + "0123456789abcdef" * 2,
    "Linear": "lin_api_" + "aB1c" * 10,
    "Telegram": "110201543:" + "AA" + "aB1-_c" * 5 + "dEf",
    "age": "AGE-SECRET-KEY-1" + "QPZRY9X8" * 7 + "GF",
    "age, post-quantum": "AGE-SECRET-KEY-PQ-1" + "QPZRY9X8" * 7 + "GF",
    "Terraform": "aB1cD2eF3gH4iJ." + "atlasv1." + "aB1-" * 16,
    "Vault": "hvs." + "CAESI" + "aB1-" * 6,
    "Discord": "MTk4NjIyNDgzNDcxOTI1MjQ4" + ".Cl2FMQ." + "aB1-" * 7,
    "Discord, a way in": "discord.com/api/webhooks/" + "198622483471925248/" + "aB1-" * 17,
    "a JSON web token": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.s5kEAk0f",
}
WAYS = ("{}", "token='{}'", "login('{}')", "https://me:{}@example.org/x", "Bearer {}", '{{"token": "{}"}}', "a {}, b")
HEX = "0123456789abcdef"
NAMED = [
    ("mysql --password {} --host db", "hunter2hunter2"),
    ("kaggle --token {}", "0123456789abcdef"),
    ("--password {}", "hunter2hunter2"),
    ("x\\n--password '{}'", "hunter2hunter2"),
    ('["-token {}"]', "hunter2hunter2"),
    ("stripe {}", "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc"),
    ("{}", "SG" + ".ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYnrnopKc-1s5cr"),
    ("posted to https://hooks.slack.com/services/{}", "T00000000/B00000000/" + "X" * 24),
    ("{}", "dapi" + "1234567890ab1cde2f3ab456c7d89efa"),
    ("{}", "dop_v1_" + "ab12" * 16),
    ("bot {}", "110201543:" + "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawx"),
    ("discord {}", "MTk4NjIyNDgzNDcxOTI1MjQ4." + "Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs"),
    ("{}", "AGE-SECRET-" + "KEY-1" + "QP" * 29),
    ("{}", "lin_api_" + "0123456789abcdefghijABCDEFGHIJ0123456789"),
    ("{}", "hvs." + "CAESIJlWh0123456789abcdefghijk"),
    ("{}", "shpat_" + "0123456789abcdef" * 2),
    ("code={}", "4/0AeanS0bCdEfGhIjKlMnOpQrStUv"),
    ('{{"code": "{}"}}', "4/0AeanS0bCdEfGhIjKlMnOpQrStUv"),
    ("Enter the code: {}", "4%2F0AeanS0bCdEfGhIjKlMnOpQrStUv"),
    ("db.example.org:5432:shop:me:{}", "hunter2hunter2"),
    ("*:*:*:me:{}", "hunter2hunter2"),
    ("read localhost:5432:*:me:{} of .pgpass", "hunter2hunter2"),
    ("db:5432:shop:me:dead-{}", "horse-battery"),
    ("db:5432:shop:me:'{}'", "hunter2hunter2"),
    ("Private-Lines: 2\r\nAAAAgQDr\r\n{}\r\nPrivate-MAC: 1", "AAAAQQCZ"),
    ("PuTTY-User-Key-File-3: ssh-ed25519\\nPrivate-Lines: 1\\n{}\\nPrivate-MAC: 1", "AAAAQQCZ"),
    ("curl -s -u me:{} https://example.org", "hunter2hunter2"),
    ("x\\ncurl -u me:{} https://example.org", "hunter2hunter2"),
    ("xcurl -su 'me:{}'", "hunter2hunter2"),
    ("curl --user=me:{}", "hunter2hunter2"),
    ("['curl', '-U', 'me:{}']", "hunter2hunter2"),
    ("curl \\\n  --proxy-user me:{}", "hunter2hunter2"),
    ('curl -u "me:a {}" https://example.org', "hunter2hunter2"),
    ("curl -sb session={} https://example.org", "0123456789abcdef"),
    ("curl --cookie 'a=b; session={}' https://example.org", "0123456789abcdef"),
    ("curl --pass {} https://example.org", "hunter2hunter2"),
    ("curl --proxy-tlspassword={}", "hunter2hunter2"),
    ("['curl', '--tlspassword', '{}']", "hunter2hunter2"),
    ("curl --oauth2-bearer {} https://example.org", "hunter2"),
    ("curl -E cert.pem:{} https://example.org", "hunter2hunter2"),
    ("curl --proxy-cert 'cert.pem:{}'", "hunter2hunter2"),
    ("Set-Cookie: session={}; Path=/", "0123456789abcdef"),
    ("x\\nCookie: session={}", "0123456789abcdef"),
    ("https://x.blob.core.windows.net/a?sv=1&sig={}", "Zm9vYmFyYmF6cXV4Zm9vYmFy%3D"),
    ("https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature={}", HEX * 4),
    ("AWS4-HMAC-SHA256 Credential=x, SignedHeaders=host, Signature={}", HEX * 4),
    ("https://b.s3.amazonaws.com/k?AWSAccessKeyId=x&Signature={}&Expires=1", "Zm9vYmFyYmF6cXV4Zm9vYmFy1%3D"),
    ("https://storage.googleapis.com/b/o?Expires=1\\u0026Signature={}", "Zm9vYmFyYmF6cXV4Zm9vYmFy1~-_"),
    ("http://localhost:8085/?code={}&scope=x", "4/0AeanS0bCdEfGhIjKlMnOpQrStUv"),
    ("aws_secret_access_key = {}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY1"),
    ("os.environ['WANDB_API_KEY'] = '{}'", HEX * 2 + HEX[:8]),
    ("$ wandb login {}", HEX * 2 + HEX[:8]),
    ("x\\nwandb login {}", HEX * 2 + HEX[:8]),
    ("my_wandb\\n{}", HEX * 2 + HEX[:8]),
    ("x\\n1//{}", "aBcDeFgHiJkLmNoPq"),
    ("x\\nsk-{}", "abc1defghijklmnop"),
    ("x\\n{} is the code", "4/0AeanS0bCdEfGhIjKlMnOpQrStUv"),
    ("x{} is the code", "4/0AeanS0bCdEfGhIjKlMnOpQrStUv"),
    ('{{"username": "me", "key": "{}"}}', HEX * 2),
    ("KAGGLE_KEY={}", HEX * 2),
    ("machine api.wandb.ai login user password {}", "tenxyz"),
    ("machine x login user account y password {}", "tenxyz"),
    ("machine example.org user me password {}", "tenxyz"),
    ("machine example.org password {}", "tenxyz"),
    ("machine x1 password {} login me", "tenxyz"),
    ("machine localhost\n  password {}\n  user me", "tenxyz"),
    ("a {} b", "r8_" + "aB1-_c" * 6 + "d"),
    ("password: {}", "hunter2x"),
    ("token = {}", "abcdefghij" * 3 + "Kl"),
    ('{{"api_key": "{}"}}', "abcdefghij" * 4),
    ("Authorization: Basic {}", "dXNlcjpwYXNz"),
    ("proxy_authorization: Basic {}", "dXNlcjpwYXNz"),
    ("https://me:{}@proxy.example:3128/", "geheim"),
    ("https://me:a@{}@proxy.example:3128/", "geheim"),
    ('key = "-----BEGIN PRIVATE KEY-----\\n{}', "MIIEvQIBADANBgkqhkiG9w0BAQ"),
    ("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQ"),
]
INNOCENT = [
    "tokens: 512, tokens/s=123456789012.5",
    '{"token": "electroencephalographically", "id": 7}',
    "token = TheVeryLongNameOfAClassThatMakesTokens(text)",
    "secret = theVeryLongNameOfAModuleThatHasSecrets.of_it",
    "token: Rindfleischetikettierungsuebe",
    "shape_of_it, shp_file, lin_api_of_somebody_who_has_a_long_name_1",
    "hvs.compute_the_values_of_the_hypervolume_1",
    "ratio 12345678:AAB, MSG.something",
    "https://hooks.slack.com/services/ needs a key",
    "nats_per_token: 1.2345678901e-05",
    'bos_token=50256 pad_token="<|endoftext|>"',
    'token = os.environ["HF_TOKEN"]',
    "basic training of the model",
    "rng_key: [0 42]",
    'File "/home/me/hf_model/model.py", line 3, in build_model',
    "tokenizer=/a/b/tokenizer1.json",
    "sk-learn-contrib-of-somebody",
    "the task-2024-01-15-imagenet-resized on disk-1234567890123456",
    "layer1//kernel_of_the_first_layer",
    "keyJ.py of half_precision",
    "-----BEGIN CERTIFICATE-----",
    "def open(password: str | None = None)",
    "gs://bucket/path@1",
    "the address 2001:0db8:1234:abcd:ef01:8a2e:0370:7334 of a machine",
    "tcp://10.0.0.1:8476: connection refused",
    "12:30:4500:main:worker",
    "half 4/0A of it",
    ".git/objects/e4/0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
    "curl -o a.zip https://example.org:8080/a --user-agent me",
    "the address 2001:0db8:1234:abcd:ef01:8a2e:0370:7334/64, and 2001:0db8:1234:abcd:ef01:8a2e:0370:7334.",
    "machine learning user account password reset",
    "on machine 10.0.0.1 password authentication is off",
    "encoder8_attention_output_dense_kernel_momentum",
    "the signature=inspect.signature.of.something.long of it",
    "curl -sXPURGE http://example.org:8080/a -b cookies.txt --cookie-jar a=b",
    "curl -E cert.pem --passive",
    "familie \U0001f468\u200d\U0001f469\u200d\U0001f467 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
]


@pytest.fixture(autouse=True)
def read_anew() -> Iterator[None]:
    yield
    secrets.held.cache_clear()


@pytest.mark.parametrize("whose", SHAPED)
def test_a_key_is_known_by_its_shape_wherever_it_stands(whose: str) -> None:
    for way in WAYS:
        assert SHAPED[whose][6:] not in without_secrets(way.format(SHAPED[whose])), way


@pytest.mark.parametrize("whose", SHAPED)
@pytest.mark.parametrize("before", ["x", "p", "my_", "1", "\x1b[31m"])
def test_a_key_is_known_behind_a_letter_too(whose: str, before: str) -> None:
    key = SHAPED[whose]
    told = without_secrets(f"{before}{key} and words")
    assert key[-9:] not in told and told.endswith(" and words")


@pytest.mark.parametrize(
    "word",
    [
        "eyJ",
        "eyJ-",
        "xhf_",
        "sk-",
        "x1//0",
        "authorization=",
        "bearer ",
        " --token ",
        "--token",
        ":5432:a:b:",
        ":*:",
        "Private-Lines: 1\n",
        "4/0A",
        "hf_\u200b",
        "curl ",
        'curl"-u',
        "curl -uuuuuu",
        ":5432:a:b:dead:",
        "cookie: a",
        "&sig=",
        "SG.",
        "SG.aaaaaaaaaaaaaaaa",
        "12345678:AA",
        "M.aaaaaa.",
        "key-",
        "Signature=",
        "machine a.b ",
        "machine a.b password ",
        "machine 1 login a ",
        "curl -b a=",
        "curl -E a:",
        "curl --pass ",
        "r8_aB1",
        "dapi0",
        "gldt-a.01.",
        "xapp-1-",
        "SG.",
        "1:AA",
        "12345678:AA",
        "lin_api_",
        "hvs.",
        "hvs.aB1",
        "MTk4",
        "MTk4NjIyNDgzNDcxOTI1MjQ4.",
        "hooks.slack.com/services/",
        "token=",
        "token=a",
        "token=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_",
    ],
)
def test_each_letter_of_a_text_made_of_begins_of_keys_is_looked_at_a_bounded_number_of_times(word: str) -> None:
    """A text of 60,000 letters is done at once; what grows with the square of its length would take minutes each."""
    text = word * (60_000 // len(word))
    for end in ("", ".", ".a", "="):
        assert len(without_secrets(text + end)) <= len(text + end)


@pytest.mark.parametrize(("words", "key"), NAMED)
def test_a_key_without_a_shape_is_known_by_what_it_is_set_to(words: str, key: str) -> None:
    assert key not in without_secrets(words.format(key))


@pytest.mark.parametrize("unseen", ["\u200b", "\u00ad", "\u2060", "\ufeff", "\u17b4"])
def test_a_key_with_a_letter_in_it_that_nobody_sees_is_one(unseen: str) -> None:
    key = SHAPED["Hugging Face"]
    split = f"{key[:12]}{unseen}{key[12:]}"
    assert key[12:] not in without_secrets(f"a {split} b")
    assert line_of_secret(f"import os\nlogin('{split}')\n") == 2


@pytest.mark.parametrize("words", INNOCENT)
def test_words_that_only_look_like_it_stay(words: str) -> None:
    assert without_secrets(words) == words


def test_what_this_environment_holds_as_a_key_is_cut_whatever_it_looks_like(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "plain-looking-value")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false-looking")
    secrets.held.cache_clear()
    assert without_secrets("got plain-looking-value, false-looking") == "got …, false-looking"


def test_a_private_key_is_cut_over_many_lines_and_what_follows_stays() -> None:
    lines = [
        "a",
        "-----BEGIN RSA PRIVATE KEY-----",
        "Proc-Type: 4,ENCRYPTED",
        "",
        "MIIE/+=",
        "-----END RSA PRIVATE KEY-----",
    ]
    follow = Lines()
    assert [follow.take(line) for line in [*lines, "next"]] == ["a", "…", "", "", "", "", "next"]
    torn = Lines()
    assert [torn.take(line) for line in [*lines[:5], "then it failed", "more"]][-2:] == ["then it failed", "more"]


def test_a_key_of_putty_is_cut_over_its_lines_and_what_follows_stays() -> None:
    follow = Lines()
    told = ["PuTTY-User-Key-File-3: ssh-rsa", "Private-Lines: 2", "AAAAgQDr", "Jw==", "Private-MAC: 0a1b", "next"]
    assert [follow.take(line) for line in told] == [*told[:2], "", "", *told[4:]]


def test_an_entry_of_netrc_is_known_over_its_lines_and_a_password_elsewhere_stays() -> None:
    follow = Lines()
    entry = ["machine example.org", "  login me", "  password hunter2"]
    assert [follow.take(line) for line in entry] == [*entry[:2], "  password …"]
    other = ["default", "password hunter2", "user me", "account x", "password of"]
    assert [follow.take(line) for line in other] == ["default", "password …", *other[2:]]
    prose = ["machine example.org user me", "is up", "password prompt", "the machine default", "password prompt"]
    assert [follow.take(line) for line in prose] == prose


def test_an_error_carries_no_key_in_its_facts_nor_in_its_words() -> None:
    key = SHAPED["Hugging Face"]
    error = ModelError("model-raises", raw=f"401 for {key}", tried=[{"with": key}], line=3)
    assert error.facts == {"raw": "401 for …", "tried": [{"with": "…"}], "line": 3}
    assert key not in f"{error} {error!r} {error.to_json()}"
    assert discreet((1, None, "a")) == (1, None, "a")


def test_a_file_tells_in_which_line_it_holds_a_key() -> None:
    assert line_of_secret(f"import os\nTOKEN = os.environ['HF_TOKEN']\nlogin('{SHAPED['OpenAI']}')\n") == 3
    assert line_of_secret("import os\nTOKEN = os.environ['HF_TOKEN']\n") is None


def test_an_error_that_cannot_say_what_it_is_is_told_by_its_kind() -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    assert words_of(Speechless()) == "Speechless"
    assert words_of(KeyError(SHAPED["OpenAI"])) == "KeyError: '…'"
