"""The account's checklist at Google: what is there, what is missing, and the repairs (workflow.account.ports.Doctor).

doctor.py   the checks in their order           repairs.py  what one press does
quota.py    allowances by area, asking for more  names.py    services, permissions, roles, quota ids: the tables
"""
