"""What becomes of a chatty stderr."""

from __future__ import annotations

from tpu_studio.trainer.guardian.logs import LogTap


def test_lines_come_through_until_they_are_too_many_and_the_rest_is_counted() -> None:
    tap = LogTap()
    kept = [fields for number in range(300) for fields in tap.take(f"line {number}".encode(), now=10.0)]
    assert [fields["text"] for fields in kept] == [f"line {number}" for number in range(200)]
    later = tap.take(b"a second later", now=11.0)
    assert [fields["text"] for fields in later] == [
        "100 more lines came faster than they are kept and were left out",
        "a second later",
    ]


def test_a_long_line_says_how_much_is_missing() -> None:
    text = LogTap().take(b"x" * 5000, now=1.0)[0]["text"]
    assert text == "x" * 2000 + "… (3000 more characters)"


def test_of_a_progress_bar_the_last_state_is_kept_and_bytes_that_are_no_text_do_not_matter() -> None:
    assert LogTap().take(b"10%\r20%\r30%\r", now=1.0)[0]["text"] == "30%"
    assert LogTap().take(b"\xff\xfe", now=1.0)[0]["text"] == "\ufffd\ufffd"
    assert LogTap().take(b"   ", now=1.0) == []


def test_a_key_that_a_model_prints_is_not_kept() -> None:
    tap, token = LogTap(), "hf_" + "a1B2" * 9
    key = ["-----BEGIN PRIVATE KEY-----", "MIIEvQ+/=", "-----END PRIVATE KEY-----"]
    kept = [
        fields["text"]
        for line in [f"logging in with {token}", *key, "in"]
        for fields in tap.take(line.encode(), now=1.0)
    ]
    assert kept == ["logging in with …", "…", "in"]
