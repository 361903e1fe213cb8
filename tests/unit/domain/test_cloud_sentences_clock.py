"""What Google refuses because this computer's clock is wrong is told as that."""

from __future__ import annotations

import pytest

from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import CloudUnclear, SignedOut

JWT = (
    "invalid_grant: Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
    "Check your iat and exp values in the JWT claim."
)
TLS = "SSLError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate is not yet valid (_ssl.c:1006)"


@pytest.mark.parametrize("error", [SignedOut("signed-out", raw=JWT), CloudUnclear("certificate-unknown", raw=TLS)])
def test_a_key_file_or_a_certificate_that_the_clock_spoils(error: Exception) -> None:
    said = say(error)  # type: ignore[arg-type]
    assert said.title == "This computer's date or time seems to be wrong"
    assert "charged until it ends" in said.meaning and "set date and time" in said.action


def test_others_keep_their_words() -> None:
    assert say(SignedOut("signed-out", raw="invalid_grant: revoked")).title == "You are not signed in to Google"
    unknown = CloudUnclear("certificate-unknown", raw="CERTIFICATE_VERIFY_FAILED: self-signed certificate in chain")
    assert say(unknown).title.startswith("Something between you and Google")
