"""Advice on a plan: rules that say what would make it quicker, cheaper or safer, each with one press that does it.

``situation`` what a rule may look at · ``chip``, ``money``, ``learning`` the rules · ``choose`` tries each out, keeps
the five that save most. The words stand in ``domain.sentences.advice``, the sources in docs/advice.md.
"""
