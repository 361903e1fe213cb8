"""How a chat is written down for a language model: the chat templates that are known, and what a chat is in each.

A folder brings its template as a Jinja program (`tokenizer_config.json`, `chat_template.jinja`), which may be a
stranger's: it is never run. It is recognised by its marks, and `rendered` writes the chat itself, as the makers' own
templates do (docs/decisions/0066). Tokens stand by themselves here, so that nothing that a person typed becomes one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant"]
PLAIN = "plain"
UNKNOWN = "?"
"""Of a folder with a template that is none of these."""
LONGEST = 200_000  # letters of a template; the longest that is known has 5,000
_BEGINS = ("<|begin_of_text|>", "<bos>", "<s>")
_ENDS = ("<|endoftext|>", "<|end_of_text|>", "<eos>", "</s>")
_DATED = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"  # the day that Llama's falls back to
_NO_THOUGHT = "<think>\n\n</think>\n\n"
_THOUGHT_ENDS = "</think>"


@dataclass(frozen=True)
class Turn:
    role: Role
    text: str


@dataclass(frozen=True)
class Part:
    """*token*: it is one token; else text. *learned*: it is part of an answer, with the token that ends it."""

    text: str
    token: bool = False
    learned: bool = False


@dataclass(frozen=True)
class Template:
    """Attributes:
    tokens: That a tokenizer must have for it; of `PLAIN` one of `_ENDS`.
    system: What the system says where a chat does not say it.
    """

    id: str
    tokens: tuple[str, ...]
    system: str = ""


_CHATML = ("<|im_start|>", "<|im_end|>")
_LLAMA = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
_GEMMA, _MISTRAL = ("<bos>", "<start_of_turn>", "<end_of_turn>"), ("<s>", "[INST]", "[/INST]", "</s>")
TEMPLATES = (
    Template("chatml", _CHATML),
    Template("qwen2", _CHATML, "You are a helpful assistant."),
    Template("qwen2.5", _CHATML, "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
    Template("qwen3", _CHATML),
    Template("smollm2", _CHATML, "You are a helpful AI assistant named SmolLM, trained by Hugging Face"),
    Template("llama3", _LLAMA),
    Template("llama3.1", _LLAMA),
    Template("gemma", _GEMMA),
    Template("mistral", _MISTRAL),
    Template("mistral-nemo", _MISTRAL),
    Template(PLAIN, ()),
)
_BY_ID = {one.id: one for one in TEMPLATES}


def usable(tokens: Set[str]) -> tuple[str, ...]:
    """Ids of those for which a tokenizer with these special *tokens* has all that they need."""
    ends = [PLAIN] if any(one in tokens for one in _ENDS) else []
    return (*(one.id for one in TEMPLATES if one.tokens and tokens >= set(one.tokens)), *ends)


_MARK = re.compile(r"<\|[a-z0-9_]+\|>")
_MARKS = {"<|im_start|>": _CHATML, "<|start_header_id|>": (*_LLAMA, "<|eom_id|>", "<|python_tag|>")}
_SAID = re.compile(r"You are (?!provided with function signatures)[^'\"<{\\\n]+")
_THINKS = "'\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n')"


def recognised(jinja: str, tokens: Set[str] = frozenset()) -> str:
    """The id of the template that *jinja* is; `UNKNOWN`. *tokens*: special ones of the tokenizer beside it."""
    if any(one in tokens for one in _ENDS) and jinja.strip() == plain_jinja(tokens):
        return PLAIN
    if len(jinja) > LONGEST:
        return UNKNOWN
    found = [mark for mark in ("<|im_start|>", "<|start_header_id|>", "<start_of_turn>", "[INST]") if mark in jinja]
    if len(found) != 1 or not set(_MARK.findall(jinja)) <= set(_MARKS.get(found[0], ())):
        return UNKNOWN
    said = {one.strip() for one in _SAID.findall(jinja)}
    match found[0]:
        case "<|im_start|>":
            return _chatml(jinja, said)
        case _ if said:
            return UNKNOWN
        case "<|start_header_id|>":
            return _llama(jinja)
        case "<start_of_turn>":
            known = "<end_of_turn>" in jinja and "first_user_prefix" in jinja
            return "gemma" if known or "System role not supported" in jinja else UNKNOWN
        case _:
            return _mistral(jinja)


def _chatml(jinja: str, said: Set[str]) -> str:
    if "bos_token" in jinja or not re.search(r"<\|im_start\|>assistant(\\n|\n)", jinja):
        return UNKNOWN
    if "think" in jinja:
        return "qwen3" if _THINKS in jinja and "enable_thinking is false" in jinja and not said else UNKNOWN
    for one in TEMPLATES:
        if one.tokens == _CHATML and one.id != "qwen3" and {one.system} - {""} == said:
            return one.id
    return UNKNOWN


def _llama(jinja: str) -> str:
    if "trim" not in jinja or "bos_token" not in jinja:
        return UNKNOWN
    if "Date: " not in jinja:
        return "llama3"
    known = '"Cutting Knowledge Date: December 2023\\n"' in jinja and '"26 Jul 2024"' in jinja
    return "llama3.1" if known and "if system_message %}" not in jinja else UNKNOWN


def _mistral(jinja: str) -> str:
    if any(one in jinja for one in ("<<SYS>>", "[SYSTEM_PROMPT]", " [/INST]")) or "loop.last" not in jinja:
        return UNKNOWN
    return "mistral" if '"[INST] "' in jinja else "mistral-nemo" if '"[INST]"' in jinja else UNKNOWN


def rendered(id: str, turns: Sequence[Turn], tokens: Set[str]) -> list[Part]:
    """The chat of *turns*, which ends with an answer; or with a question, whose answer is to be written then.

    Args:
        turns: A system's, if there is one, then by turns a user's and an assistant's.
        tokens: Special tokens of the tokenizer.
    """
    template = _BY_ID[id]
    if template.tokens == _CHATML:
        return list(_as_chatml(template, turns))
    match id:
        case "llama3" | "llama3.1":
            return list(_as_llama(turns, _DATED if id == "llama3.1" else None))
        case "gemma":
            return list(_as_gemma(turns))
        case "mistral" | "mistral-nemo":
            return list(_as_mistral(turns, " " * has_blank(id)))
        case _:
            return list(_as_plain(turns, tokens))


def has_blank(id: str) -> bool:
    """Whether it writes a blank before each answer."""
    return id == "mistral"


def ends(id: str, tokens: Set[str]) -> tuple[str, ...]:
    """Tokens with one of which an answer ends."""
    last = {_CHATML: "<|im_end|>", _LLAMA: "<|eot_id|>", _GEMMA: "<end_of_turn>", _MISTRAL: "</s>"}
    mine = last.get(_BY_ID[id].tokens)
    return (mine or _end(tokens), *(one for one in _ENDS if one in tokens and one != mine))


def _end(tokens: Set[str]) -> str:
    """Raises KeyError: there is none."""
    end = next((one for one in _ENDS if one in tokens), None)
    if end is None:
        raise KeyError("a token that ends a text")
    return end


def _begin(tokens: Set[str]) -> str:
    return next((one for one in _BEGINS if one in tokens), "")


def _split(turns: Sequence[Turn], usual: str = "") -> tuple[str, Sequence[Turn]]:
    """What the system says, and the others."""
    if turns[0].role == "system":
        return turns[0].text, turns[1:]
    return usual, turns


def _as_chatml(template: Template, turns: Sequence[Turn]) -> Iterator[Part]:
    said, turns = _split(turns, template.system)
    begin, end = (Part(one, token=True) for one in _CHATML)
    thinks = template.id == "qwen3"
    if said:
        yield from (begin, Part(f"system\n{said}"), end, Part("\n"))
    for number, turn in enumerate(turns, 1):
        yield from (begin, Part(f"{turn.role}\n"))
        last = number == len(turns)
        if turn.role == "user":
            yield from (Part(turn.text), end, Part("\n"))
            if last:
                yield from (begin, Part(f"assistant\n{_NO_THOUGHT if thinks else ''}"))
        else:
            learned = last or not thinks  # it writes each of its answers after thoughts, which earlier ones have lost
            yield from _thoughts(turn.text, last=last) if thinks else (Part(turn.text, learned=True),)
            yield from (Part(end.text, token=True, learned=learned), Part("\n"))


def _thoughts(text: str, *, last: bool) -> Iterator[Part]:
    """An answer of Qwen3: the last one behind its thoughts, and where it has none, behind the sign that it has none."""
    _, sign, said = text.rpartition(_THOUGHT_ENDS)
    said = said.lstrip("\n")
    if not last:
        yield Part(said)
        return
    thought = text.partition(_THOUGHT_ENDS)[0].rstrip("\n").rpartition("<think>")[2].strip("\n") if sign else ""
    if thought:
        yield Part(f"<think>\n{thought}\n</think>\n\n{said}", learned=True)
    else:
        yield from (Part(_NO_THOUGHT), Part(said, learned=True))


def _as_llama(turns: Sequence[Turn], dated: str | None) -> Iterator[Part]:
    said, turns = _split(turns)
    said = said if dated is None else dated + said
    begin, head, headed, end = (Part(one, token=True) for one in _LLAMA)

    def of(role: str) -> Iterator[Part]:
        yield from (head, Part(role), headed, Part("\n\n"))

    yield begin
    if said:
        yield from (*of("system"), Part(said), end)
    for turn in turns:
        learned = turn.role == "assistant"
        yield from (*of(turn.role), Part(turn.text, learned=learned), Part(end.text, token=True, learned=learned))
    if turns[-1].role == "user":
        yield from of("assistant")


def _as_gemma(turns: Sequence[Turn]) -> Iterator[Part]:
    said, turns = _split(turns)
    begin, opens, closes = (Part(one, token=True) for one in _GEMMA)
    yield begin
    for number, turn in enumerate(turns):
        first = f"{said}\n\n" if said and not number else ""
        learned = turn.role == "assistant"
        yield from (opens, Part("model\n" if learned else "user\n"), Part(f"{first}{turn.text}", learned=learned))
        yield from (Part(closes.text, token=True, learned=learned), Part("\n"))
    if turns[-1].role == "user":
        yield from (opens, Part("model\n"))


def _as_mistral(turns: Sequence[Turn], blank: str) -> Iterator[Part]:
    """What the system says stands in the last question, which is where it stands when an answer is asked for."""
    said, turns = _split(turns)
    begin, opens, closes, end = (Part(one, token=True) for one in _MISTRAL)
    asked = max(number for number, turn in enumerate(turns) if turn.role == "user")
    yield begin
    for number, turn in enumerate(turns):
        if turn.role == "user":
            first = f"{said}\n\n" if said and number == asked else ""
            yield from (opens, Part(f"{blank}{first}{turn.text}"), closes)
        else:
            yield from (Part(f"{blank}{turn.text}", learned=True), Part(end.text, token=True, learned=True))


def _as_plain(turns: Sequence[Turn], tokens: Set[str]) -> Iterator[Part]:
    """Stanford Alpaca's headings (Taori et al. 2023), and the token that ends a text at the end of an answer."""
    said, turns = _split(turns)
    if begin := _begin(tokens):
        yield Part(begin, token=True)
    if said:
        yield Part(f"{said}\n\n")
    for number, turn in enumerate(turns):
        if turn.role == "user":
            between = "\n\n" if number else ""
            yield Part(f"{between}### Instruction:\n{turn.text}\n\n### Response:\n")
        else:
            yield from (Part(turn.text, learned=True), Part(_end(tokens), token=True, learned=True))


def plain_jinja(tokens: Set[str]) -> str:
    """`PLAIN` for whoever else reads the folder."""
    begin, end = _begin(tokens), _end(tokens)
    return (
        ("{{ '" + begin + "' }}" if begin else "")
        + "{% for message in messages %}{% if message['role'] == 'system' %}{{ message['content'] | trim + '\\n\\n' }}"
        + "{% elif message['role'] == 'user' %}"
        + "{% if loop.index0 and messages[loop.index0 - 1]['role'] == 'assistant' %}{{ '\\n\\n' }}{% endif %}"
        + "{{ '### Instruction:\\n' + message['content'] | trim + '\\n\\n### Response:\\n' }}"
        + "{% else %}{{ message['content'] | trim + '"
        + end
        + "' }}{% endif %}{% endfor %}"
    )


def of_config(value: object) -> str:
    """The Jinja of `chat_template` in a `tokenizer_config.json`: a text, or several with a name each; "" for none."""
    if isinstance(value, list):
        value = next(
            (one.get("template") for one in value if isinstance(one, Mapping) and one.get("name") == "default"), ""
        )
    return value if isinstance(value, str) else ""


def joined(parts: Iterable[Part]) -> Iterator[Part]:
    """Texts that follow each other, and are learned alike, as one: they are cut into tokens together."""
    kept: Part | None = None
    for part in parts:
        if kept and not part.token and not kept.token and part.learned == kept.learned:
            kept = Part(kept.text + part.text, learned=kept.learned)
            continue
        if kept and kept.text:
            yield kept
        kept = part
    if kept and kept.text:
        yield kept
