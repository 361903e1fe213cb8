"""The verbs and their options, each with a help text and an example. Standard library only: quick to start."""

from __future__ import annotations

import argparse
import difflib
import re
import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from tpu_studio import __version__
from tpu_studio.wire import exports, kinds, places
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.numerals import readings, spelled

_CLOUDS = tuple(place.id for place in sorted(places.all_places(), key=lambda one: not one.charges) if place.rents)


class Arguments(argparse.Namespace):
    """What was asked for. Each verb reads the options that `parser` gives it."""

    verb: str
    json: bool

    def __getattr__(self, name: str) -> Any:  # for mypy: options differ by verb
        raise AttributeError(name)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if verb := re.match(r"argument VERB: invalid choice: '(.*?)'", message):
            near = difflib.get_close_matches(verb[1], re.findall(r"'(\w+)'", message[verb.end() :]), n=1)
            message = f"There is no verb “{verb[1]}”" + (f"; perhaps “{near[0]}” is meant" if near else "")
        raise BadInput("command-line", raw=message, help=f"{self.prog} --help")


def parse(argv: Sequence[str]) -> Arguments:
    """Raises BadInput ``command-line``; SystemExit for --help and --version."""
    arguments, left = parser().parse_known_args(list(argv), namespace=Arguments())
    if left:
        known = f"“{arguments.verb}” does not know {' '.join(left)}"
        raise BadInput("command-line", raw=known, help=f"tpu-studio {arguments.verb} --help")
    return arguments


@cache
def parser() -> argparse.ArgumentParser:
    """Of all verbs; one for a process, however many of them it does."""
    top = _Parser(
        prog="tpu-studio",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=textwrap.dedent("""\
        Train a model on this computer and watch it learn. Without a verb the window opens.
        Every verb has --help with an example, and --json for scripts."""),
    )
    top.add_argument("--version", action="version", version=f"tpu-studio {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)

    def verb(name: str, help: str, example: str) -> argparse.ArgumentParser:
        made = verbs.add_parser(
            name,
            help=help,
            description=help,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=f"example:\n  {example}",
        )
        made.add_argument("--json", action="store_true", help="answer with JSON on stdout; words go to stderr")
        return made

    plan = verb(
        "plan",
        "Estimate time and cost of a job and check it; starts nothing.",
        "tpu-studio plan digits.tpujob --set training.epochs=10",
    )
    _job(plan)
    plan.add_argument("--no-measure", action="store_true", help="do not time a few real steps; the estimate is wider")
    plan.add_argument("--report", type=Path, metavar="FILE", help="write the plan as a page too: .html or .pdf")
    plan.add_argument("--force", action="store_true", help="write the page over a file that is there")
    plan.add_argument("--commands", action="store_true", help="for a rented TPU: show its launch as gcloud commands")

    check = verb(
        "check",
        "Check a job before anything is rented: shapes, operations, and memory by the real TPU compiler.",
        "tpu-studio check gpt-124m.tpujob --set where.accelerator=v6e-1 --set training.global_batch=8",
    )
    _job(check)
    check.add_argument("--largest-batch", action="store_true", help="also look for the largest batch that fits")
    check.add_argument("--words", action="store_true", help="also all that the compiler itself said, as it told it")
    check.add_argument("--again", action="store_true", help="ask the compiler again instead of using its last answer")

    run = verb(
        "run",
        "Start a job and watch it to the end. Ctrl-C leaves it running.",
        "tpu-studio run digits.tpujob --set training.learning_rate=0.001",
    )
    _job(run)
    run.add_argument("--beside", action="store_true", help="run beside others at once instead of waiting for its turn")
    run.add_argument("--detach", action="store_true", help="start it and return at once")
    run.add_argument("--stop-on-interrupt", action="store_true", help="Ctrl-C stops the run and keeps the model")
    run.add_argument("--measure", action="store_true", help="time a few real steps first, for closer limits")
    run.add_argument("--yes", action="store_true", help="do not ask (places that cost money ask before they start)")
    run.add_argument(
        "--without-outside-stop",
        action="store_true",
        help="this run only: also where Google can set no shut-off timers",
    )
    run.add_argument("--notebook", type=Path, metavar="FILE", help="on colab: where to write it; else beside the job")
    run.add_argument("--open", action="store_true", help="on colab: open Colab in the browser")

    runs = verb("runs", "List all runs, newest first.", "tpu-studio runs")
    runs.add_argument(
        "--deleted", action="store_true", help="those in the trash instead, which “delete --undo” brings back"
    )
    runs.add_argument(
        "--forget-taught", action="store_true", help="let what they taught the estimate count no more; they stay"
    )
    runs.add_argument("--empty-trash", action="store_true", help="remove for good what is in the trash, to make room")
    runs.add_argument("--yes", action="store_true", help="do not ask")

    show = verb(
        "show",
        "Tell what is known of a run, or of one that was saved as one page: its state, figures and how it ended.",
        "tpu-studio show digits-k3f7",
    )
    _run(show)
    show.add_argument(
        "--log", type=int, default=0, metavar="N", help="also the latest N lines the training program wrote"
    )
    show.add_argument(
        "--job", type=Path, metavar="FILE", help="write what it was asked to do to FILE, a job to start again"
    )

    watch = verb(
        "watch",
        "Watch a run to its end, whoever started it; a rented run of another computer is taken over from its bucket.",
        "tpu-studio watch gs://tpu-studio-0123456789ab/runs/digits-k3f7",
    )
    _run(watch)
    watch.add_argument("--on", choices=_CLOUDS, default=_CLOUDS[0], help="where that bucket is (cloud)")
    _yes(watch)
    watch.add_argument("--stop-on-interrupt", action="store_true", help="Ctrl-C stops the run and keeps the model")

    stop = verb("stop", "Stop a run and keep its model.", "tpu-studio stop digits-k3f7")
    _run(stop)
    stop.add_argument("--discard", action="store_true", help="do not keep the model")
    stop.add_argument("--no-wait", action="store_true", help="return at once instead of when it has ended")

    extend = verb(
        "extend",
        "Train a run further, while it goes on or after its end: one curve. With limits alone, only they change.",
        "tpu-studio extend digits-k3f7 --epochs 5",
    )
    _run(extend)
    extend.add_argument(
        "--epochs",
        type=amount,
        metavar="N",
        help="how many more epochs, passes through the data (1, or none where only limits are given)",
    )
    _limits(extend)
    _yes(extend)
    _trust(extend)

    resume = verb(
        "resume",
        "Go on with a run that was stopped or has failed, from its last checkpoint, or without one from the beginning.",
        "tpu-studio resume digits-k3f7",
    )
    _run(resume)
    _limits(resume)
    _yes(resume)
    _trust(resume)

    rename = verb(
        "rename",
        "Show a run under another name on this computer. Its folder, and what it is called by here, stay.",
        'tpu-studio rename digits-k3f7 "digits with warm-up"',
    )
    _run(rename)
    rename.add_argument("name", metavar="NAME", help='"" for the one that its job gave it')

    tag = verb(
        "tag",
        "Give a run tags, or take some: `runs` and the window find it by them. They stay on this computer.",
        "tpu-studio tag digits-k3f7 baseline warm-up --remove draft",
    )
    _run(tag)
    tag.add_argument("tags", nargs="*", default=[], metavar="TAG", help="tags to give; without any, tell those it has")
    tag.add_argument("--remove", nargs="+", default=[], metavar="TAG", help="tags to take")

    note = verb(
        "note",
        "Write a note about a run, as plain text. It stays on this computer, and is not sent along with the run.",
        'tpu-studio note digits-k3f7 "falls apart above 0.01"',
    )
    _run(note)
    note.add_argument(
        "text", nargs="?", metavar="TEXT", help='in place of the note it has; "" for none; without: tell it'
    )

    star = verb("star", "Put a star on a run, or take it off.", "tpu-studio star digits-k3f7")
    _run(star)
    star.add_argument("--off", action="store_true", help="take it off")

    profile = verb(
        "profile",
        "Profile 20 steps of a run while it trains, and tell in three sentences where their time goes.",
        "tpu-studio profile digits-k3f7",
    )
    _run(profile)

    delete = verb("delete", "Move a run to the trash, or restore it.", "tpu-studio delete digits-k3f7")
    _run(delete)
    delete.add_argument("--undo", action="store_true", help="restore it from the trash")
    delete.add_argument(
        "--for-good", action="store_true", help="remove it at once, also from the trash; nothing brings it back"
    )

    export = verb(
        "export",
        "Copy the result of a run, the model in open formats, to a folder; or write one file of it.",
        "tpu-studio export digits-k3f7 ~/digits-model\n  tpu-studio export digits-k3f7 --as litert --to digits.tflite",
    )
    _run(export)
    export.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="where the model goes, new or empty")
    whole = (
        "zip: the whole run to send or keep, which `import` takes in elsewhere; its plan names where its data is here"
    )
    _page(export, "one HTML file with curves to zoom, plan, cost and job file", exports.IDS, zip=whole)
    _trust(export)

    brought = verb(
        "import",
        "Take in a run folder from another computer, or the zip that a Colab notebook made.",
        "tpu-studio import ~/Downloads/digits-k3f7.zip",
    )
    brought.add_argument("folder", type=Path, metavar="FOLDER", help="a run's folder, or a zip of one")
    brought.add_argument("--run", default="", metavar="RUN", help="the run that the zip must be; another is refused")
    brought.add_argument(
        "--replace",
        action="store_true",
        help="where the same run is here and the two differ, take this one; the one here goes to the trash",
    )

    convert = verb(
        "convert",
        "Convert a data set to sharded TFRecord files. Interrupted, it goes on where it was.",
        "tpu-studio convert photos/ photos-tfrecord/",
    )
    convert.add_argument("source", type=Path, metavar="SRC", help="a folder or file of data, or a job file")
    convert.add_argument("destination", type=Path, metavar="DST", help="an empty or new folder for the files")
    convert.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="table.key=value",
        help="a setting of the data, any number of times",
    )
    convert.add_argument(
        "--decoded",
        action="store_true",
        help="store pictures as pixels, as a model sees them: larger, and read many times faster",
    )
    convert.add_argument("--processes", type=int, default=2, metavar="N", help="how many work at once (2)")

    estimate = verb(
        "estimate",
        "How fast a described workload trains on a TPU slice, and what holds it back; rents nothing.",
        "tpu-studio estimate workload.json",
    )
    estimate.add_argument("workload", type=Path, metavar="WORKLOAD", help="a JSON file that describes it")
    estimate.add_argument("--own-runs", action="store_true", help="lay what your own runs on real TPUs taught over it")

    compare = verb(
        "compare",
        "Lay runs beside each other: which is better, by how much, and whether that is more than chance.",
        "tpu-studio compare digits-k3f7 digits-p2aq",
    )
    compare.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="two runs or more, each by its id or the beginning of it, its name, or its folder",
    )
    _page(compare, "one HTML file with the curves of all, to zoom, and the settings that differ")

    explain = verb(
        "explain",
        "Tell what an error text means and what to do: TPU, JAX, TensorFlow, PyTorch/XLA, Colab, Kaggle, gcloud.",
        "tpu-studio explain train.log",
    )
    explain.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="a log or an error text; without one, or “-”, what comes by a pipe (stdin)",
    )

    models = verb(
        "models",
        "The models that come with TPU Studio: what each learns from, its options, and what it can begin from.",
        "tpu-studio models --kind images",
    )
    models.add_argument("--kind", choices=kinds.IDS, help="only those that learn from this kind of data")
    of_hub = models.add_mutually_exclusive_group()
    of_hub.add_argument(
        "--look-up",
        metavar="hf:OWNER/NAME",
        help="ask huggingface.co for a language model's description and tokenizer (a few MB): enough for its plan",
    )
    of_hub.add_argument(
        "--download",
        metavar="hf:OWNER/NAME",
        help="its weights too; a model that asks to be agreed to wants your access token in HF_TOKEN",
    )
    of_hub.add_argument("--delete", metavar="hf:OWNER/NAME", help="delete what was fetched of it")

    data = verb(
        "data",
        "Data sets of the Hugging Face Hub: subsets, splits, sizes and licence of one; with --download, its files.",
        "tpu-studio data hf:stanfordnlp/imdb --download",
    )
    data.add_argument("name", nargs="?", metavar="hf:OWNER/NAME", help="without one: those that were looked up here")
    data.add_argument("--subset", default="", metavar="NAME", help="which of its subsets, where it has several")
    data.add_argument(
        "--split",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="which splits, instead of that to learn from",
    )
    then = data.add_mutually_exclusive_group()
    then.add_argument("--download", action="store_true", help="fetch them as Parquet, and name the folder for a job")
    then.add_argument("--delete", action="store_true", help="delete all that was fetched of it")

    engine = verb(
        "engine",
        "The training engine (TensorFlow, JAX, Keras): what state it is in, install, repair or remove it.",
        "tpu-studio engine --install",
    )
    what = engine.add_mutually_exclusive_group()
    what.add_argument("--path", action="store_true", help="print its folder")
    what.add_argument("--install", action="store_true", help="install it, about 2 GB; nothing happens if it is there")
    what.add_argument("--repair", action="store_true", help="check every file and replace what is damaged")
    what.add_argument("--remove", action="store_true", help="delete it")
    engine.add_argument(
        "--with",
        dest="extra",
        choices=("tpu-compiler", "tf-tpu-compiler", "starter-weights", "onnx-exporter"),
        help="instead of it: the TPU compiler (1.4 GB), or what lowers TensorFlow for it (2 GB more), each in an"
        " environment of its own, what `check` compiles with; weights that models can begin from (110 MB);"
        " or what writes models as ONNX (200 MB)",
    )
    engine.add_argument("--accept-licence", action="store_true", help="accept Google's terms for libtpu, the compiler")
    engine.add_argument("--wheels", type=Path, metavar="FOLDER", help="install from this folder instead of the network")

    doctor = verb(
        "doctor",
        "What Google Cloud still needs before it can lend a TPU, each with its fix; and what you may use where.",
        "tpu-studio doctor --use-gcloud --project my-project --fix all",
    )
    doctor.add_argument("--on", choices=_CLOUDS, default=_CLOUDS[0], help="default: cloud")
    who = doctor.add_mutually_exclusive_group()
    who.add_argument("--use-gcloud", action="store_true", help="sign in with the credentials that gcloud made")
    who.add_argument("--key", type=Path, metavar="FILE", help="sign in with a service-account key")
    who.add_argument(
        "--sign-in", nargs="?", const="", metavar="FILE", help="sign in in the browser; FILE: your own OAuth client"
    )
    who.add_argument(
        "--sign-out",
        action="store_true",
        help="forget the account in use, and tell Google so, which ends its sign-in on your other computers, too",
    )
    doctor.add_argument(
        "--yes",
        action="store_true",
        help="with --fix all: make the project, turn billing on; with --sign-out: also while a run is on a rented TPU",
    )
    doctor.add_argument("--project", metavar="ID", help="the project to use from now on; --fix all makes a new one")
    doctor.add_argument("--region", metavar="REGION", help="the region for TPU, results and shut-off timers")
    doctor.add_argument("--bucket", metavar="NAME", help="a bucket of yours for results")
    doctor.add_argument("--fix", metavar="FIX", help="do a repair by its name; all: until the account is ready")
    doctor.add_argument("--billing-account", metavar="NAME", help="which one pays, where you have several")
    doctor.add_argument(
        "--monthly", type=amount, metavar="AMOUNT", help="for --fix make-alert: in your billing account's currency"
    )

    sweep = verb(
        "sweep",
        "Find billable resources in your project, in every zone; what is not TPU Studio's is only shown.",
        "tpu-studio sweep --on practice",
    )
    sweep.add_argument("--on", choices=_CLOUDS, default=_CLOUDS[0], help="default: cloud")
    sweep.add_argument("--delete", action="store_true", help="delete what TPU Studio made; buckets with results stay")
    sweep.add_argument("--yes", action="store_true", help="do not ask before deleting")

    live = verb(
        "live-check",
        "Settle on your own account what this program assumes of Google: free reads, then, if you agree, a few small "
        "things and one TPU for minutes.",
        "tpu-studio live-check --on practice --yes",
    )
    live.add_argument("--on", choices=_CLOUDS, default=_CLOUDS[0], help="default: cloud")
    live.add_argument("--yes", action="store_true", help="also what makes something, and the one machine")
    live.add_argument("--max-usd", type=amount, default=1.0, metavar="X", help="it stays below this (1)")
    live.add_argument("--save", metavar="FILE", help="what was seen, without names, to send to the project")
    live.add_argument("--force", action="store_true", help="write over a file that is there")

    known = verb(
        "catalogue",
        "The TPU catalogue: zones, slices, machines, images, prices, each with its source and day.",
        "tpu-studio catalogue --refresh",
    )
    known.add_argument("--on", choices=_CLOUDS, default=_CLOUDS[0], help="default: cloud")
    known.add_argument("--refresh", action="store_true", help="ask your project's own lists, about a minute; free")

    practice = verb(
        "practice",
        "Serve the practice cloud: Google's own interfaces on this computer, free, with machines that are processes.",
        "tpu-studio practice --fault preempted-at-step:step=40 --speed 10",
    )
    practice.add_argument("--port", type=int, default=0, metavar="N", help="default: any free one")
    practice.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME[:key=value,…]",
        help="the fault to inject, also in one that runs already; any number; “list” lists them",
    )
    practice.add_argument(
        "--doubt",
        action="append",
        default=[],
        metavar="ID[=OTHER]",
        help="what Google may do otherwise than the program assumes, also in one that runs already; any number",
    )
    practice.add_argument("--doubts", action="store_true", help="list what the program assumes of Google")
    practice.add_argument(
        "--account",
        choices=("new", "ready"),
        help="new: a person with one open billing account and no project; ready (default): all is set up",
    )
    practice.add_argument("--speed", type=float, metavar="X", help="practice seconds in a real one (1)")
    practice.add_argument("--stop", action="store_true", help="end the one of this home, and all its machines")
    practice.add_argument(
        "--detached", action="store_true", help="return when it listens; it ends when nobody needs it for ten minutes"
    )
    practice.add_argument("--as-server", action="store_true", help=argparse.SUPPRESS)

    predict = verb("predict", "Predict with the model of a run.", "tpu-studio predict sign-digits-k3f7 hand.jpg")
    _run(predict)
    _trust(predict)
    predict.add_argument("items", nargs="*", metavar="ITEM", help="pictures, folders of pictures, tables, text files")
    predict.add_argument(
        "--samples", type=int, default=0, metavar="N", help="N pictures of the run's own data that were kept aside"
    )
    predict.add_argument(
        "--row", action="append", default=[], metavar="column=value", help="one row of a table, a column at a time"
    )
    predict.add_argument("--prompt", metavar="TEXT", help="the beginning of a text that the model goes on with")
    predict.add_argument("--length", type=int, default=200, metavar="N", help="how many tokens to write (200)")
    predict.add_argument("--seed", type=int, default=0, metavar="N", help="another seed, another text (0)")
    predict.add_argument(
        "--temperature", type=float, default=0.8, metavar="X", help="0 is always the likeliest; 1 is bold (0.8)"
    )
    return top


def _job(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("job", type=Path, metavar="JOB", help="a job file, name.tpujob")
    verb.add_argument(
        "--on", choices=places.IDS, metavar="PLACE", help=f"where to run: {', '.join(places.IDS)}; else as the job says"
    )
    verb.add_argument(
        "--set", action="append", default=[], metavar="table.key=value", help="change a setting, any number of times"
    )
    _trust(verb)


def _page(verb: argparse.ArgumentParser, what: str, formats: Sequence[str] = (), **more: str) -> None:
    """*more*: help for other formats, by their names."""
    told = "; ".join(
        [
            f"page: {what}, without data, keys and paths",
            *more.values(),
            *(f"{one}: {exports.by_id(one).about}" for one in formats),
        ]
    )
    verb.add_argument("--as", dest="form", choices=("page", *more, *formats), help=told)
    folder = ", or a Hugging Face folder," if any(exports.by_id(one).is_folder for one in formats) else ""
    verb.add_argument("--to", type=Path, metavar="FILE", help=f"where that file{folder} goes")
    verb.add_argument("--force", action="store_true", help="write over a file that is there")


def _trust(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--trust-code", action="store_true", help="agree to run the job's own Python file (remembered by its content)"
    )


def _run(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("run", metavar="RUN", help="id of a run or the beginning of it, its name, or its folder")


def _yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask (a run on Google Cloud asks: it is charged)")


def _limits(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--hours", type=amount, metavar="H", help="new time limit of the whole run")
    verb.add_argument("--money", type=amount, metavar="USD", help="new cost limit of the whole run")


def amount(text: str) -> float:
    """A limit as people write it: "2,50" is 2.5, and "2,500" is asked about (``wire.numerals``)."""
    found = readings(text)
    if len(found) == 2:
        small, large = (spelled(one).replace("\u202f", "") for one in found)
        raise argparse.ArgumentTypeError(f"“{text}” can mean {small} or {large}: write the one you mean")
    if not found:
        raise argparse.ArgumentTypeError(f"“{text}” is no number")
    return found[0]
