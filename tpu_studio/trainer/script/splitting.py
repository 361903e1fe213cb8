"""How a script keeps the same examples aside as the run did: by hashes of names or row numbers (``data.split``)."""

from __future__ import annotations

from tpu_studio.trainer.script.parts import Constant
from tpu_studio.wire.plan import Plan


def constants(plan: Plan) -> tuple[Constant, ...]:
    return (Constant("VALIDATION", plan.job.data.validation, "this share is never trained on, only tested on"),)


ROWS = '''
def row_keys(count):
    """For each row number another that looks random and never changes (SplitMix64: Steele, Lea, Flood 2014)."""
    state = np.arange(1, count + 1, dtype=np.uint64) + np.uint64(SEED * 0x2545F4914F6CDD1D % 2**64)
    mixed = state * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))

'''

BELOW = '''
def below(folder):
    """The files in *folder* at any depth. Of links those in LINKS alone are looked through: they stay in DATA."""
    found = []
    try:
        with os.scandir(folder) as entries:
            inside = list(entries)
    except PermissionError:
        return found
    for entry in inside:
        if entry.is_dir(follow_symlinks=False):
            found += below(entry.path)
        elif entry.is_file(follow_symlinks=os.path.relpath(entry.path, DATA) in LINKS):
            found.append(entry.path)
    return found

'''

NAMES = '''
def name_keys(names):
    """For each name a number that looks random and never changes: a hash of it."""
    salt = SEED.to_bytes(8, "little")
    hashes = [hashlib.blake2b(os.fsencode(name), digest_size=8, key=salt).digest() for name in names]
    return np.frombuffer(b"".join(hashes), "<u8")

'''

KEPT = '''
def kept_aside(keys, classes):
    """True for each example that is kept aside: of every class the same share (a stratified split)."""
    order = np.lexsort((keys, classes))
    sizes = np.bincount(classes)
    starts = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    rank, size = np.arange(len(keys)) - starts[classes[order]], sizes[classes[order]]
    place = (rank + 0.5) / size
    place[rank == size - 1] = 2.0  # the last of its class stays, while others can go
    chosen = order[np.lexsort((keys[order], place))]
    count = max(1, min(round(len(keys) * VALIDATION), max(1, len(keys) - np.count_nonzero(sizes))))
    kept = np.zeros(len(keys), bool)
    kept[chosen[:count]] = True
    return kept

'''
