"""Make `resources/catalogue/` from the collected data files: every figure with its source, date and confidence.

    python tools/make_catalogue.py --from FOLDER [--check]

FOLDER holds accelerators.json, prices.json and throughput-calibration.json as they were collected. The files made here
are what the program reads (`tpu_studio.domain.catalogue`). What is known from elsewhere than FOLDER (dates of its
sources, where flex-start is sold, how images with TensorFlow are named) stands in the tables below. A generation that
FOLDER lacks is kept as it stands in generations.json: it was added there by hand.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent / "resources" / "catalogue"

# When each source was written or copied, as far as it says so itself.
DATES = {
    "v5e_doc": "2025 to 2026",
    "v5p_doc": "2025 to 2026",
    "v6e_doc": "2025 to 2026",
    "tpu7x_doc": "2026",
    "v4_doc": "2025",
    "v3_doc": "2025",
    "v2_doc": "2025",
    "api_enum": "2025-07-02",
    "tpus_in_gce": "2026",
    "runtimes": "2025-09",
    "tf_versions": "2025",
    "regions": "2025-09 to 2026",
    "skypilot": "undated, read 2026-11-21",
    "skypilot_v9": "undated, read 2026-11-21",
    "scaling_book": "2025-02-18",
    "general": "not dated",
    "general_knowledge": "not dated",
    "tf82208": "2025-03",
    "registry": "2026-11-21",
    "announce8": "2026-04-22",
    "note2026": "2026-10-02",
    "aot": "2026-11-21",
    "spot_doc": "not dated",
    "gcs_doc": "2024 to 2025",
    "flex_doc": "2025-08",
    "field_2026_08": "2026-08",
    "tf_release_tests": "2026-08-21",
    "tf_v5e_note": "undated, of TensorFlow 2.16 to 2.19",
}
MORE_SOURCES = {
    "flex_doc": 'Google Cloud docs "Request Cloud TPU using flex-start", stored copy',
    "field_2026_08": "the live price list as one developer read and published it in a public repository",
    "tf_release_tests": "GoogleCloudPlatform/ml-auto-solutions @7eda193b, dags/solutions_team/"
    "solutionsteam_tf_release_supported.py and configs/tensorflow/common.py: Google's release tests of TensorFlow 2.18",
    "tf_v5e_note": "a user's note in a public repository: which images and versions of TensorFlow ran on v5e and v6e",
}

# field of accelerators.json → (name here, unit, key of its confidence there, source when not the generation's own page)
FIGURES: dict[str, tuple[str, str, str, str]] = {
    "peak_bf16_tflops_per_chip": ("peak_bf16", "TFLOP/s per chip", "peak", ""),
    "peak_int8_tops_per_chip": ("peak_int8", "TOP/s per chip", "peak", ""),
    "peak_fp8_tflops_per_chip": ("peak_fp8", "TFLOP/s per chip", "peak", ""),
    "hbm_gib_per_chip": ("hbm", "GiB per chip", "hbm", ""),
    "hbm_gib_per_jax_device": ("hbm_per_device", "GiB per device", "hbm", ""),
    "hbm_gbps_per_chip": ("hbm_rate", "GB/s per chip", "hbm", ""),
    "ici_gbytes_bidirectional_per_chip": ("ici_rate", "GB/s per chip, both ways", "ici", ""),
    "jax_devices_per_chip": ("devices_per_chip", "devices", "devices", ""),
    "tensorcores_per_chip": ("tensorcores_per_chip", "TensorCores", "devices", ""),
}
TORUS_NEIGHBOURS = {"2D": 4, "3D": 6}  # links of a chip, from the scaling-book table of links

# (generation, zone) where flex-start is documented (flex_doc) or was seen to be accepted (field_2026_08).
FLEX_START = {
    ("v6e", "asia-northeast1-b"): "flex_doc",
    ("v6e", "us-east5-a"): "flex_doc",
    ("v5e", "us-west4-a"): "flex_doc",
}
MORE_PRICES = [
    {"generation": "v5e", "region": "us-west4", "tier": "flex-start", "usd_per_chip_hour": 0.60},
    {"generation": "v6e", "region": "us-east5", "tier": "flex-start", "usd_per_chip_hour": 1.35},
]
# What the TPU compiler lets a program have of one device, told by its refusals (docs/check.md), in GiB.
PROGRAM_GIB = {"v4": 30.75, "v5e": 15.75, "v5p": 95.74, "v6e": 31.25, "tpu7x": 94.75}
TITLES = {"tpu7x": "TPU7x"}  # where Google's pages spell it otherwise than its id
COMPILER = {"v4": {"chip_config_name": "megacore"}}  # the two cores of a chip as one device, as on the VM
NOT_COMPILED = ("v2", "v3")  # nobody has seen this compiler accept a program for them
# Images of Compute Engine, which lends these alone; v5e is listed and refused there: only the TPU API lends it.
_FAMILIES = "projects/ubuntu-os-accelerator-images/global/images/family"
COMPUTE_IMAGES = {
    "v5p": f"{_FAMILIES}/ubuntu-accel-2204-amd64-tpu-v5e-v5p-v6e",
    "v6e": f"{_FAMILIES}/ubuntu-accel-2204-amd64-tpu-v5e-v5p-v6e",
    "tpu7x": f"{_FAMILIES}/ubuntu-accel-2404-amd64-tpu-tpu7x",
}
PODS_ONLY = ("v4",)  # no price of its own for a single machine
PRICED_CHIPS = {"v2": 4, "v3": 4, "v4": 4}  # of one unit of the price list, where that is no chip but 8 cores
HYPERDISK_ONLY = ("v6e", "tpu7x")  # of Compute Engine's disks to start from
# The runtime image of the TPU API that we start, whatever the framework: Python and wheels are ours. Google's table has
# them for JAX and PyTorch (runtimes). Its release tests of TensorFlow put a wheel on such an image too, on
# v2-alpha-tpuv5-lite for v5e and on v2-alpha-tpuv5 for v2 to v4 and v5p (tf_release_tests).
RUNTIMES = {
    "v2": "tpu-ubuntu2204-base",
    "v3": "tpu-ubuntu2204-base",
    "v4": "tpu-ubuntu2204-base",
    "v5e": "v2-alpha-tpuv5-lite",
    "v5p": "v2-alpha-tpuv5",
    "v6e": "v2-alpha-tpuv6e",
}
# How Google names images with TensorFlow, and what is said of them. FOLDER has a suffix, "v5p-and-below", that no
# document of Google's has.
_TF = "tpu-vm-tf-{x.y.z}-pjrt; -pod-pjrt for multi-host"
TF_IMAGES = {
    "v2": _TF,
    "v3": _TF,
    "v4": _TF,
    "v5e": f"{_TF}; a user ran v5litepod-8 on tpu-vm-tf-2.18.0-pjrt-v5e-and-v6 (tf_v5e_note)",
    "v5p": _TF,
    "v6e": "none in Google's documents; on tpu-vm-tf-2.18.0-pjrt-v5e-and-v6 TensorFlow crashed (a user: tf_v5e_note)",
    "tpu7x": "not supported",
}
TF_WORDS = {"v5p": "2.15+ PJRT images to 2.18"}
# For whom it is, those first that are looked at first.
IN_SHORT = {
    "v5e": "best for learning",
    "v6e": "fast",
    "v5p": "large models",
    "v4": "older, large models",
    "v2": "old",
}
# Slices that draw the limit for serving; larger ones that for training (`domain.quota`).
SERVING_CHIPS = {"v5e": [1, 4, 8]}


def _quota(tier: str, stem: str, unit: str = "chips", *, region: bool = True, **more: str) -> dict[str, str]:
    """Ids of Google's limits for a zone and a region. The word order is Google's and follows no rule. Serving limits
    for a zone were seen in refusals; those for a region are a doubt (``serving-region-quota``). *title*: as Google's
    list displays it, without the place; an id that is spelled otherwise is found by it."""
    ids = {
        "zone": f"{stem}PerProjectPerZoneForTPUAPI",
        "region": f"{stem}PerProjectPerRegionForTPUAPI" if region else "",
    }
    return {"tier": tier, **ids, "unit": unit, **more}


_SERVING, _SERVING_SPOT = "TPUv5 lite pod cores for serving", "Preemptible TPU v5 lite pod cores for serving"
QUOTAS = {
    "v5e": [
        _quota("on-demand", "TPUV5sLitepodServing", use="serving", title=_SERVING),
        _quota("spot", "TPUV5sPreemptibleLitepodServing", use="serving", title=_SERVING_SPOT),
        _quota("on-demand", "TPUV5sLitepod", use="training"),
        _quota("spot", "TPUV5sPreemptibleLitepod", use="training"),
    ],
    "v6e": [_quota("on-demand", "TPUV6E"), _quota("spot", "TPUV6EPreemptible")],
    "v5p": [_quota("on-demand", "TPUV5P", "cores"), _quota("spot", "TPUV5PPreemptible", "cores", region=False)],
    "v4": [_quota("spot", "TPUV4sPreemptiblePod", "cores")],
    "v2": [_quota("spot", "TPUV2sPreemptiblePod", "cores")],
}
# Frameworks by generation: what may be said of the pair, and the sentence for it.
UNPROVEN_TF = "TensorFlow has official images for this chip up to version 2.18; newer ones are unproven on it."
REPORTED_TF = "Google's pages differ on TensorFlow for v6e, and it was reported not to start there."
OLD_JAX = "Current JAX still lists it; its days are numbered."
SUPPORT: dict[str, dict[str, tuple[str, str]]] = {
    "v2": {"tensorflow": ("documented", UNPROVEN_TF), "jax": ("unproven", OLD_JAX)},
    "v3": {"tensorflow": ("documented", UNPROVEN_TF), "jax": ("unproven", OLD_JAX)},
    "v4": {"tensorflow": ("documented", UNPROVEN_TF), "jax": ("documented", "")},
    "v5e": {"tensorflow": ("documented", UNPROVEN_TF), "jax": ("documented", "")},
    "v5p": {"tensorflow": ("documented", UNPROVEN_TF), "jax": ("documented", "")},
    "v6e": {
        "tensorflow": ("unproven", REPORTED_TF),
        "jax": ("documented", ""),
    },
    "tpu7x": {
        "tensorflow": ("impossible", "Google says that TensorFlow is not supported on TPU7x."),
        "jax": ("documented", ""),
    },
}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--from", dest="folder", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 when a file would change")
    asked = parser.parse_args(argv)
    chips = json.loads((asked.folder / "accelerators.json").read_text("utf-8"))
    money = json.loads((asked.folder / "prices.json").read_text("utf-8"))
    measured = json.loads((asked.folder / "throughput-calibration.json").read_text("utf-8"))
    made = {
        "generations.json": generations(chips, money),
        "software.json": software(chips),
        "prices.json": prices(money),
        "gpus.json": gpus(money),
        "calibration.json": measured,
    }
    kept = json.loads((HERE / "generations.json").read_text("utf-8"))["generations"]
    collected = {one["id"] for one in made["generations.json"]["generations"]}
    made["generations.json"]["generations"] += [one for one in kept if one["id"] not in collected]
    changed = []
    for name, record in made.items():
        text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        path = HERE / name
        if not path.exists() or path.read_text("utf-8") != text:
            changed.append(name)
            if not asked.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
    print(("would change: " if asked.check else "written: ") + (", ".join(changed) or "nothing"))
    return 1 if asked.check and changed else 0


def sources(keys: dict[str, str]) -> dict[str, dict[str, str]]:
    return {key: {"title": title, "date": DATES[key]} for key, title in {**keys, **MORE_SOURCES}.items()}


def confidence(words: dict[str, str], key: str) -> str:
    """The first word of what the collection says of *key*; "medium" where it says nothing."""
    said = words.get(key, words.get("all", "medium")).split()[0].strip(":,;(")
    return said if said in ("high", "medium", "low", "unverified") else "medium"


def figure(value: Any, unit: str, source: str, sure: str, note: str = "") -> dict[str, Any]:
    made = {"value": value, "unit": unit, "source": source, "date": DATES[source], "confidence": sure}
    return {**made, "note": note} if note else made


def generations(chips: dict[str, Any], money: dict[str, Any]) -> dict[str, Any]:
    """All that is known of a generation, its software and its prices too: another one is added in this file alone."""
    links = chips["ici_per_link_bytes_per_s_one_way"]
    made = []
    for raw in chips["generations"]:
        words = raw.get("confidence", {})
        own = raw["sources"][0]
        figures = {
            name: figure(raw[key], unit, source or own, confidence(words, said), _note(raw, key))
            for key, (name, unit, said, source) in FIGURES.items()
            if raw.get(key) is not None
        }
        if "ici_rate" not in figures and raw["id"] in links:
            neighbours = TORUS_NEIGHBOURS[raw["interconnect"][:2]]
            both_ways = links[raw["id"]] * 2 * neighbours / 1e9
            figures["ici_rate"] = figure(
                both_ways, "GB/s per chip, both ways", "scaling_book", "medium", "links × rate"
            )
        if "mxu" in raw:
            figures["matrix_unit"] = figure(
                int(raw["mxu"].split("x")[0]), "rows and columns", own, confidence(words, "mxu"), raw["mxu"]
            )
        id = raw["id"]
        if id in PROGRAM_GIB:
            figures["program"] = figure(PROGRAM_GIB[id], "GiB per device, for a program", "aot", "high")
        made.append(
            {
                "id": id,
                **({"title": TITLES[id]} if id in TITLES else {}),
                "aliases": raw.get("aliases", []),
                "offered": bool(raw.get("slices")),
                "status": raw["status"],
                "in_short": IN_SHORT.get(id, ""),
                "rank": [*IN_SHORT, id].index(id),
                "interconnect": raw.get("interconnect"),
                "control_plane": "cloud-tpu" if raw["api_type"] else "compute-engine" if raw.get("slices") else None,
                "api_type": raw["api_type"],
                "name_counts": raw["name_counts"],
                "max_chips": raw.get("max_single_job_chips") or raw.get("max_chips"),
                "compute_image": COMPUTE_IMAGES.get(id, ""),
                **({"pods_only": True} if id in PODS_ONLY else {}),
                **({"priced_chips": PRICED_CHIPS[id]} if id in PRICED_CHIPS else {}),
                **({"persistent_disk": False} if id in HYPERDISK_ONLY else {}),
                "compiles": bool(raw.get("slices")) and id not in NOT_COMPILED,
                **({"compiler": COMPILER[id]} if id in COMPILER else {}),
                "serving_chips": SERVING_CHIPS.get(id, []),
                "figures": figures,
                "machine_types": [
                    {
                        **machine,
                        "source": own,
                        "date": DATES[own],
                        "confidence": "low" if "uncertain" in machine else confidence(words, "vm"),
                    }
                    for machine in raw.get("machine_types", [])
                ],
                "slices": [_slice(raw, one, own, confidence(words, "slices")) for one in raw.get("slices", [])],
                "zones": _zones(raw, confidence(words, "zones")),
                "software": _software(raw, chips),
                "quotas": QUOTAS.get(id, []),
                "prices": _prices(raw, money),
            }
        )
    return {
        "format": 1,
        "generated": chips["generated"],
        "sources": sources({**chips["source_keys"], **money["source_keys"]}),
        "host_network": figure(chips["dcn_bytes_per_s_per_host"], "bytes/s per host", "scaling_book", "medium"),
        "host_to_chip": figure(chips["pcie_bytes_per_s_per_chip"], "bytes/s per chip", "scaling_book", "medium"),
        "generations": made,
        "tiers": chips["consumption_options"],
        "end_of_life": chips["eol"],
        "quota": chips["quota"],
    }


def _note(raw: dict[str, Any], key: str) -> str:
    for name in (
        key.replace("_tflops_per_chip", "_note").replace("_tops_per_chip", "_note"),
        key.split("_")[0] + "_note",
    ):
        if name in raw and name != key:
            return str(raw[name])
    return str(raw.get("jax_devices_note", "")) if key == "jax_devices_per_chip" else ""


def _slice(raw: dict[str, Any], one: dict[str, Any], source: str, sure: str) -> dict[str, Any]:
    """VMs: what one logs in to. Pages count a v5e slice of 16 and more in physical hosts, but it lends VMs of 4."""
    vms = one["hosts"] if raw["id"] != "v5e" or one["single_host"] else one["chips"] // 4
    return {
        "accelerator_type": one["accelerator_type"],
        "chips": one["chips"],
        "topology": one["topology"],
        "vms": vms,
        "devices": one["chips"] * raw["jax_devices_per_chip"],
        "source": source,
        "date": DATES[source],
        "confidence": "low" if vms != one["hosts"] else sure,
        "note": one.get("vms_note", ""),
    }


def _zones(raw: dict[str, Any], sure: str) -> list[dict[str, Any]]:
    """Zones with the sizes each lends; ``listed`` is false where only other than the official list names it."""
    made: dict[str, dict[str, Any]] = {}
    for words, zones in (raw.get("zones") or {}).items():
        sizes = [slice_["chips"] for slice_ in raw["slices"]]
        named = [
            int(number) // (2 if raw["name_counts"] == "TensorCores" else 1) for number in re.findall(r"-(\d+)", words)
        ]
        least, most = (named[0], named[-1]) if named else (sizes[0], sizes[-1])
        if "larger" in words:
            most = sizes[-1]
        for zone in zones:
            known = made.get(zone)
            if known:
                least, most = min(least, known["min_chips"]), max(most, known["max_chips"])
            listed = words not in ("also seen", "newer copies add") or bool(known and known["listed"])
            flex = FLEX_START.get((raw["id"], zone))
            made[zone] = {
                "zone": zone,
                "min_chips": least,
                "max_chips": most,
                "listed": listed,
                "tiers": ["on-demand", "spot", *(["flex-start"] if flex else [])],
                "source": "regions",
                "date": DATES["regions"],
                "confidence": sure if listed else "low",
            }
    return list(made.values())


def _software(raw: dict[str, Any], chips: dict[str, Any]) -> dict[str, dict[str, str]]:
    """By framework: what may be said of the pair, the image that Google names for it, and the one that we start."""
    named = {"jax": chips["runtimes"]["cloud_tpu_api_images"]["jax_and_pytorch"], "tensorflow": TF_IMAGES}
    more = {"tensorflow": TF_WORDS}
    return {
        name: {
            "state": state,
            "why": why,
            "words": more.get(name, {}).get(raw["id"], row[name]),
            "source": row["evidence"].split(";")[0].strip(),
            "confidence": "medium" if state != "unproven" else "low",
            "image": named[name].get(raw["id"], ""),
            "runtime": RUNTIMES.get(raw["id"], ""),
        }
        for row in chips["framework_support"]
        if row["generation"] == raw["id"]
        for name, (state, why) in SUPPORT[raw["id"]].items()
    }


def software(chips: dict[str, Any]) -> dict[str, Any]:
    runtimes = chips["runtimes"]
    return {
        "format": 1,
        "generated": chips["generated"],
        "sources": sources(chips["source_keys"]),
        "images": {
            "note": runtimes["image_validity_note"],
            "rule": runtimes["cloud_tpu_api_images"]["rule"],
            "source": "runtimes",
            "date": DATES["runtimes"],
            "confidence": "medium",
        },
        "tensorflow_images": {
            "last": runtimes["tf_last_listed"],
            "libtpu": runtimes["tf_to_libtpu_image"],
            "source": "tf_versions",
            "date": DATES["tf_versions"],
            "confidence": "high",
        },
        # What goes together in one environment: measured with the real packages.
        "together": [
            {
                "framework": "jax",
                "python": "3.11",
                "packages": {"jax": "0.10.2", "libtpu": "0.0.42.1"},
                "source": "aot",
                "date": DATES["aot"],
                "confidence": "high",
                "note": "compiles for v4 to TPU7x; libtpu 0.0.51 compiles as well",
            },
            {
                "framework": "tensorflow",
                "python": "3.11",
                "packages": {"tensorflow-tpu": "2.20.0", "libtpu": "0.0.29"},
                "source": "aot",
                "date": DATES["aot"],
                "confidence": "medium",
                "note": "aborts at import with libtpu 0.0.32 and newer; never seen on a TPU",
            },
        ],
        "packages": chips["packages"]["items"],
        "packages_read": chips["generated"],
    }


def _prices(one: dict[str, Any], money: dict[str, Any]) -> list[dict[str, Any]]:
    """One row a region, tier and range of sizes. What was only remembered is left out."""
    known = [part["chips"] for part in one.get("slices", [])]
    rows = []
    for raw in money["tpu_prices"]:
        if raw["generation"] != one["id"]:
            continue
        least, most = raw["chips"] or known[0], raw["chips"] or known[-1]
        if raw["slice"] in ("v3-32", "v4-8"):  # larger slices cost the same a chip (its note; the only rate of v4)
            most = known[-1]
        for tier, key in (("on-demand", "on_demand_usd_per_chip_hour"), ("spot", "spot_usd_per_chip_hour")):
            if raw[key] is not None:
                rows.append(
                    {
                        "region": raw["region"],
                        "tier": tier,
                        "min_chips": least,
                        "max_chips": most,
                        "usd_per_chip_hour": raw[key],
                        "as_of": money["generated"],
                        "source": raw["source"],
                        "confidence": raw["confidence"],
                        "note": raw["note"],
                    }
                )
    for extra in MORE_PRICES:
        if extra["generation"] != one["id"]:
            continue
        rows.append(
            {
                **{key: extra[key] for key in ("region", "tier")},
                "min_chips": known[0],
                "max_chips": known[-1],
                "usd_per_chip_hour": extra["usd_per_chip_hour"],
                "as_of": "2026-08-31",
                "source": "field_2026_08",
                "confidence": "low",
                "note": "one reader of the live list, August 2026",
            }
        )
    return rows


def prices(money: dict[str, Any]) -> dict[str, Any]:
    return {
        "format": 1,
        "generated": money["generated"],
        "currency": money["currency"],
        "unit": money["unit"],
        "sources": sources(money["source_keys"]),
        "warnings": money["warnings"],
        "billing": money["billing"],
        "storage": money["storage"],
    }


def gpus(money: dict[str, Any]) -> dict[str, Any]:
    return {
        "format": 1,
        "generated": money["generated"],
        "sources": sources(money["source_keys"]),
        "note": money["gpu_source_note"],
        "gpus": [
            {
                **{key: value for key, value in raw.items() if key != "price_confidence"},
                "confidence": raw["price_confidence"],
                "source": "skypilot_v9",
                "as_of": money["generated"],
            }
            for raw in money["gpu_options"]
        ],
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
