"""Puts together what `app` and `cli` both need: the two clouds with their accounts, and the places that plans run at.

reaching.py   who we are at a cloud: credentials, project, area, bucket
accounts.py   the sides of the Account page and of ``doctor``
"""
