"""The guardian on a rented machine: ``python3 guardian.pyz vm``, started by ``resources/vm/startup.sh`` on every boot.

    metadata ▶ config, clock, token ▶ claim ▶ proof ▶ lease, stops ▶ bundle, data, environment ▶ Keeper ▶ end ▶ DELETE
                                        └── mailbox: the run's prefix in the bucket ⇄ a run folder on this disk ──┘

``main`` is the order, each step a module of its own. Everything may be killed at any instant and is then done again:
what was reached stands in the bucket or in files beside the run folder. docs/cloud.md is the contract.
"""
