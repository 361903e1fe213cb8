"""Targets that fail on purpose."""

from __future__ import annotations

import random
import time

from tests.fakes.fuzz.target import Base


class Crashes(Base):
    def one(self, chance: random.Random) -> None:
        number = chance.randrange(10)
        self.given("digit", str(number).encode())
        if number == 7:
            raise ZeroDivisionError("seven")


class Hangs(Base):
    def one(self, chance: random.Random) -> None:
        self.given("digit", b"1")
        time.sleep(100)


class Eats(Base):
    def one(self, chance: random.Random) -> None:
        self.given("digit", b"1")
        held = bytes(1 << 30) + b"x"
        time.sleep(5)
        del held
