"""acid.py beside what it is made of: the views of a store, and what `acid export` and `acid
compare` print. Where pandas is installed, all of it with DataFrames too."""
import csv
import io
import json
import math
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time

from bench import bench

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "exports" / "notebook"))
import acid  # noqa: E402

WILD = ("--set", "optimizer.learning_rate=1e80")  # diverges
POSITION = ("gradients", "normalised_time", "seconds", "bytes")


def rows(table):
    """Of a Table or a DataFrame, with None for what pandas has no value for."""
    if acid.pandas is None:
        return list(table)
    return [{name: None if one is acid.pandas.NA or (name != "value" and one != one)
             else one.item() if hasattr(one, "item") else one for name, one in zip(table, cells)}
            for cells in table.itertuples(index=False, name=None)]


def same(left, right):
    """Two numbers, NaN like NaN; else equal things."""
    return left == right or (left != left and right != right)


def cell(value):
    """As `acid export` writes settings into CSV."""
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def refused(said, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except acid.AcidError as error:
        assert said in str(error), (said, str(error))
    else:
        raise AssertionError(f"{said}: not refused")


def exported(lab, *arguments):
    return list(csv.DictReader(io.StringIO(lab.call("export", *arguments))))


def check_long(lab, name, store="acid-store"):
    """Every value, in the order of the file, bit for bit."""
    found = rows(acid.points(name, workers=True, store=store))
    wanted = exported(lab, name, "--store", store)
    assert len(found) == len(wanted) > 0
    for row, line in zip(found, wanted):
        assert (row["run"], row["metric"]) == (line["run"], line["metric"])
        assert line["worker"] == cell(row["worker"]), (row, line)
        for column in (*POSITION, "value"):
            assert same(row[column], float(line[column])), (column, row, line)
    whole = rows(acid.points(name, store=store))
    assert len(whole) == sum(line["worker"] == "" for line in wanted)
    assert len(whole) < len(found) or name == "wild"  # which ends before workers are evaluated
    return found


def check_wide(lab, name):
    """Who a run is, its settings that differ, and what was measured at each moment."""
    wanted = exported(lab, name, "--wide")
    head = [column for column in wanted[0] if column in ("run", "algorithm", "label", "seed")
            or "." in column]
    others = {*head, "tags", *POSITION}  # a table of points has no tags
    metrics = [column for column in wanted[0] if column not in others]
    table = acid.points(name)
    assert list(table.columns)[:len(head)] == head, (list(table.columns), head)
    found = {}
    for row in rows(table):
        moment = (row["run"], *(float(row[column]) for column in POSITION))
        found.setdefault(moment, []).append(row)
    assert len(found) == len(wanted)
    for line in wanted:
        at = found[(line["run"], *(float(line[column]) for column in POSITION))]
        assert {row["metric"] for row in at} == {name for name in metrics if line[name]}
        for row in at:
            assert same(row["value"], float(line[row["metric"]])), (row, line)
            for column in head:
                assert str(line[column]) == cell(row[column]) or float(line[column]) == row[column]


def check_views(db, name):
    """Plain SQL of the documented views says the same."""
    ids = [run for run, in db.execute(
        "SELECT run FROM experiment_list WHERE name = ? AND created = (SELECT max(created) FROM "
        "experiment_list WHERE name = ?) ORDER BY position", [name, name])]
    table = acid.runs(name, settings="all")
    assert [row["run"] for row in rows(table)] == ids
    for row in rows(table):
        cursor = db.execute("SELECT * FROM run_list WHERE id = ?", [row["run"]])
        view = dict(zip((column[0] for column in cursor.description), cursor.fetchone()))
        assert row["group"] == view["group_digest"]
        settings = json.loads(view["settings"])
        of_experiment = ("experiment", "experiment_name", "label", "role")
        for column in set(view) - {"id", "group_digest", "settings", "plan", "metrics",
                                   *of_experiment}:
            assert row[column] == view[column], (column, row[column], view[column])
        seen = db.execute("SELECT experiment, name, label, role FROM experiment_list WHERE run = ? "
                          "AND experiment = ?", [row["run"], row["experiment"]]).fetchone()
        assert seen == tuple(row[column] for column in of_experiment), (seen, row)
        assert row["experiment_name"] == name
        assert row["optimizer.learning_rate"] == settings["optimizer"]["learning_rate"]
        assert row["execution.virtual.pauses"] == "[]"  # a list, as JSON
        assert "seed" in row and "algorithm.kind" not in row
    assert not any("." in column for column in acid.runs(name, settings="none").columns)
    marks = ", ".join("?" for _ in ids)
    for metric in ("eval_loss", "consensus_distance"):
        wanted = db.execute(f"""SELECT run, gradients, seconds, value, special FROM points_view
            WHERE metric = ? AND worker IS NULL AND run IN ({marks})""", [metric, *ids]).fetchall()
        found = {(row["run"], row["gradients"], row["seconds"]): row["value"]
                 for row in rows(acid.points(name, metric=metric))}
        assert len(wanted) == len(found) > 0
        for run, gradients, seconds, value, special in wanted:
            assert same(found[run, gradients, seconds], math.nan if special == 1 else value)
    wanted = db.execute(f"""SELECT run, metric, worker, unit, better, last, last_special, best,
        best_gradients FROM series_list WHERE run IN ({marks})""", ids).fetchall()
    found = {(row["run"], row["metric"], row["worker"]): row
             for row in rows(acid.final(name, workers=True))}
    assert len(wanted) == len(found) > 0
    for run, metric, worker, unit, better, last, special, best, when in wanted:
        row = found[run, metric, worker]
        assert same(row["value"], math.nan if special == 1 else last), row
        assert [row[column] for column in ("unit", "better", "best", "best_gradients")] == [
            unit, better, best, when], row


def check_special(lab, db):
    """NaN and the infinities, at the end too; the latter are put into a copy of the store."""
    (nans,), = db.execute("SELECT count(*) FROM points_view WHERE special = 1")
    values = [row["value"] for row in rows(acid.points(workers=True))]
    assert sum(value != value for value in values) == nans > 0
    assert any(row["value"] != row["value"] for row in rows(acid.final("wild")))
    if not os.path.exists("copy"):
        os.mkdir("copy")
        db.execute("VACUUM INTO 'copy/store.db'")
        with sqlite3.connect("copy/store.db") as copy:
            for special, value in ((2, "9e999"), (3, "-9e999")):
                copy.execute(f"UPDATE points SET value = {value}, special = {special}"
                             " WHERE tick = ? AND value IS NOT NULL", [special])
        copy.close()
    values = [row["value"] for row in check_long(lab, "small", store="copy")]
    assert math.inf in values and -math.inf in values


def check_compare(lab):
    document = json.loads(lab.call("compare", "small", "--json"))
    lines = list(csv.DictReader(io.StringIO(lab.call("compare", "small", "--csv"))))
    table = acid.compare("small")
    found = {(row["group"], row["metric"]): row for row in rows(table)}
    assert len(found) == len(lines) == sum(len(group["metrics"]) for group in document["groups"])
    for group in document["groups"]:
        for metric, estimate in group["metrics"].items():
            row = found[group["group"], metric]
            assert (row["algorithm"], row["label"]) == (group["algorithm"], group["label"])
            assert all(row[name] == value for name, value in estimate.items()), (row, estimate)
    assert document["differences"]
    for difference in document["differences"]:
        row = found[difference["group"], difference["metric"]]
        assert row["difference"] == difference["mean"] and row["p_holm"] == difference["p_holm"]
        assert row["difference_n"] == difference["n"] and row["verdict"] == difference["verdict"]
    for line in lines:
        row = found[line["group"], line["metric"]]
        for name in ("mean", "ci_low", "difference", "difference_ci_high", "p"):
            assert row[name] is None if line[name] == "" else row[name] == float(line[name])
    assert table.attrs["verdict"] == document["verdict"]
    assert {row["group"] for row in rows(acid.runs("small"))} == {group for group, _ in found}
    two = acid.compare("small", metric=["eval_loss", "bytes"], baseline="pairs", at="gradients=100")
    assert {row["metric"] for row in rows(two)} >= {"eval_loss", "bytes"}
    assert {row["label"] for row in rows(two) if row["difference"] is not None} == {"AR-SGD"}
    refused("--no-such", acid.compare, "small", no_such=1)
    refused("only_changed", acid.compare, "small", only_changed=True)
    refused("matches '--csv'", acid.compare, "--csv")
    program, os.environ["ACID"] = os.environ["ACID"], "no-such-program"
    refused("PATH", acid.compare, "small")
    os.environ["ACID"] = program


def check_names(lab):
    newest, older = [one["id"] for one in json.loads(lab.call("list", "--experiments", "--json"))
                     ["experiments"] if one["name"] == "small"]
    ids = [row["run"] for row in rows(acid.runs("small"))]
    assert [row["run"] for row in rows(acid.runs(newest[:6]))] == ids
    # Runs of both experiments are shown through the experiment that is named.
    before = rows(acid.runs(older))
    assert [row["label"] for row in before] == ["AR-SGD", "former"]
    assert {row["label"] for row in rows(acid.runs("small"))} == {"AR-SGD", "pairs"}
    assert len(rows(acid.runs("small", where="label = 'pairs'"))) == 2
    assert not rows(acid.runs("small", where="label = 'former'"))
    assert {row["run"] for row in before} < set(ids)
    assert {row["experiment"] for row in before} == {older}
    assert [row["run"] for row in rows(acid.runs(ids[1][:8], ids[0], ids[1]))] == ids[1::-1]
    assert {row["experiment_name"] for row in rows(acid.runs("@latest"))} == {"wild"}
    assert len(acid.runs("small", where="seed = 2")) == 2
    assert len(acid.runs(where="settings ->> '$.optimizer.learning_rate' > 1")) == 4
    refused("did you mean 'small'", acid.runs, "smal")
    digits = sorted(run[0] for run in acid.runs()["run"])  # more runs than there are digits
    refused("give more of the id", acid.runs, next(
        one for one, other in zip(digits, digits[1:]) if one == other))
    for where in ("nothing = 1", "seed = 1; DELETE FROM runs", "seed = ("):
        refused("over id, experiment", acid.points, where=where)
    refused("'eval_loss' is a metric", acid.points, "eval_loss")
    refused("did you mean 'eval_loss'", acid.points, "small", metric="eval_los")
    refused("'differing', 'all' or 'none'", acid.runs, settings="some")
    refused("'acid run RECIPE' creates one", acid.runs, store="nowhere")
    os.makedirs("foreign", exist_ok=True)
    sqlite3.connect("foreign/store.db").execute("CREATE TABLE IF NOT EXISTS runs (id)").close()
    refused("not this acid's", acid.runs, store="foreign")
    pathlib.Path("foreign/store.db").write_text("no database" * 100, encoding="utf-8")
    refused("not a database", acid.runs, store="foreign")
    os.remove("foreign/store.db")


def check_table():
    """What it is without pandas."""
    table = acid.runs("small")
    assert table[0]["run"] == table["run"][0] and len(table["label"]) == len(table) == 4
    text = repr(table)
    assert table["run"][3] in text and "4 rows; not shown: " in text and "state" in text
    assert max(map(len, text.splitlines()[:-1])) <= 80
    assert repr(acid.points("small")).count("\n") == 21


def check_superseded(lab):
    """Of a run that was killed and went on from a checkpoint, no step counts twice."""
    more = ("--set", "seeds=[1]", "--set", "budget.gradients=800000",
            "--set", "checkpoint.every_time=4000", "--set", "evaluation.every_gradients=2000")
    lab.run("killed", overrides=(*more, "--set", "budget.gradients=8"))  # writes the recipe
    with subprocess.Popen([lab.program, "run", "killed.toml", *more], start_new_session=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        db = sqlite3.connect("file:acid-store/store.db?mode=ro", uri=True)
        while running.poll() is None and not db.execute(
                "SELECT sum(gradients > 0) FROM checkpoint_list").fetchone()[0]:
            time.sleep(0.01)
        db.close()
        os.killpg(running.pid, signal.SIGKILL)
    lab.call("run", "killed.toml", *more)
    check_long(lab, "killed")
    assert max(acid.runs("killed")["attempts"]) == 2
    series = {}
    for row in rows(acid.points("killed", workers=True)):
        series.setdefault((row["run"], row["metric"], row["worker"]), []).append(row)
    last = rows(acid.final("killed", workers=True))
    assert len(last) == len(series)
    for row in last:
        curve = series[row["run"], row["metric"], row["worker"]]
        assert same(row["value"], curve[-1]["value"]), row
        if row["better"]:  # the first of equals
            best = max(curve, key=lambda one: row["better"] * one["value"])
            assert (row["best"], row["best_gradients"]) == (best["value"], best["gradients"]), row


def check_examples(lab):
    text = (SOURCE / "docs" / "NOTEBOOK.md").read_text(encoding="utf-8")
    plain, frames = [piece.split("```")[0] for piece in text.split("```python\n")[1:]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1"}
    lab.run("first")
    for example in (plain, frames) if acid.pandas is not None else (plain,):
        done = subprocess.run([sys.executable, "-B", "-c", example], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
        said = done.stdout.decode("utf-8")
        assert done.returncode == 0, done.stderr.decode("utf-8")
        assert "pairs" in said, said
        if example is plain:
            assert said.startswith("4 runs finished, of ['AR-SGD', 'pairs']"), said
            assert "AR-SGD: mean eval_loss" in said and "bytes in" in said and "p = " in said, said


def check_all(lab):
    with sqlite3.connect("file:acid-store/store.db?mode=ro", uri=True) as db:
        for name in ("small", "wild"):
            check_long(lab, name)
            check_views(db, name)
        check_wide(lab, "small")
        check_special(lab, db)
    db.close()
    check_compare(lab)
    check_names(lab)


def main():
    for name in [name for name in os.environ if name.startswith("ACID")]:
        del os.environ[name]
    os.environ.update(ACID=os.path.abspath(sys.argv[1]), COLUMNS="80")
    with bench(sys.argv[1]) as lab:
        os.chdir(lab.folder)
        lab.run(label='"former"', overrides=("--set", "seeds=[1]"))
        lab.run()
        lab.run("many", overrides=("--set", "seeds=[3, 4, 5, 6, 7, 8, 9, 10]"))
        lab.run("wild")
        lab.call("run", "wild.toml", *WILD, code=1)
        with_pandas, acid.pandas = acid.pandas, None
        check_all(lab)
        check_table()
        if with_pandas is not None:
            acid.pandas = with_pandas
            check_all(lab)
        check_superseded(lab)
        check_examples(lab)
        os.chdir("/")
    print("with pandas" if with_pandas else "without pandas, which is not installed")


if __name__ == "__main__":
    main()
