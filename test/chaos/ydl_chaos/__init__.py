"""Random jobs under random faults, and the rules that hold whatever happens.

    scenario.py     a seed becomes a job and its faults; nothing else is random
    task.py         the program that the jobs run, which keeps a ledger of its own
    faults.py       the table of faults
    world.py        what a fault can reach, on one machine (local_world.py) and on YARN (yarn_world.py)
    servers.py      how ydl says that a server cannot be reached
    rules.py        what must be true afterwards
    records.py      the results of a campaign, to be gone on with
    campaign.py     the command line
"""
