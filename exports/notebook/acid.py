"""What acid recorded, as tables for a notebook; docs/NOTEBOOK.md has an example.

    import acid
    acid.runs("first")                          # a row per run, with its settings
    acid.points("first", metric="eval_loss")    # a row per recorded value
    acid.final("first")                         # a row per metric, with its last value
    acid.compare("first", by="topology.kind")   # a row per group and metric, as `acid compare`

Tables are pandas DataFrames where pandas is installed, else of the class Table. The functions read
the views of SCHEMA.md, without stopping a run, and raise AcidError. What they all take:

names     As on the command line: ids, prefixes, an experiment's name (the newest of that name), or
          "@latest", the newest experiment. Without: all runs; for compare() the newest experiment.
where     Only runs for which this SQL expression over run_list holds, as in `acid list --where`.
          (In the views a run whose process was killed is "running" until acid goes on with it.)
store     The store's folder. None: ACID_STORE, else acid-store.
settings  Which are columns, by dotted key: "differing" between the runs, "all" or "none". Lists are
          JSON text; None: the run has no such setting.

Tables join on `run`, a run's id, and on `group`, that of runs which differ by seed alone. A value
that was not finite is nan, inf or -inf; None is what there is not.
"""
import contextlib
import difflib
import json
import math
import os
import pathlib
import shutil
import sqlite3
import subprocess

try:
    import pandas
except ImportError:
    pandas = None

_HEAD = ["run", "algorithm", "label", "seed"]
_APPLICATION, _SCHEMA = 0x41434944, 6  # of the database; older schemas have other views


class AcidError(Exception):
    """A fault of a name, an expression, a store or the program, and what to do."""


class Table(list):
    """Rows as dictionaries: table[0] is a row, table["value"] a column. `attrs`: as DataFrames'."""

    def __init__(self, rows, columns):
        super().__init__(rows)
        self.columns, self.attrs = list(columns), {}

    def __getitem__(self, key):
        return [row[key] for row in self] if isinstance(key, str) else super().__getitem__(key)

    def __repr__(self):
        names = list(self.columns)
        shown = {name: [name] + [_shown(row[name]) for row in self[:20]] for name in names}
        width = {name: max(map(len, shown[name])) + 2 for name in names}
        while sum(map(width.get, names)) > shutil.get_terminal_size().columns and len(names) > 2:
            del names[len(names) // 2]
        lines = zip(*([text.rjust(width[name]) for text in shown[name]] for name in names))
        left_out = ", ".join(name for name in self.columns if name not in names)
        return "\n".join(["".join(line) for line in lines] + [
            f"[{len(self)} rows{'; not shown: ' if left_out else ''}{left_out}]"])


def runs(*names, where=None, settings="differing", store=None):
    """The columns of run_list, its `id` as `run` and its `group_digest` as `group`, and settings.
    In the order of the names' recipes; without names, newest first."""
    with _open(store) as db:
        rows, columns = _selected(db, names, where)
    keys = _setting_keys(rows, settings)
    own = [name for name in columns if name not in ("settings", "plan", "metrics")]  # JSON
    return _table(own + keys, [[row[name] for name in own] + _cells(row, keys) for row in rows])


def points(*names, metric=None, workers=False, where=None, settings="differing", store=None):
    """Every value that is not superseded: `run`, `algorithm`, `label`, `seed`, settings, `metric`,
    `worker` (None: the whole run), `unit`, `gradients`, `normalised_time`, `seconds`, `bytes` and
    `value`, of each run by metric, worker and position. `metric`: only this one, or a list of them.
    `workers`: with the series of single workers."""
    columns = ["metric", "worker", "unit", "gradients", "normalised_time", "seconds", "bytes"]
    sql = f"""SELECT {", ".join(columns)}, value, special FROM points_view WHERE run = ? AND {{}}
              ORDER BY metric, worker, attempt, gradients, normalised_time, seconds, bytes"""
    return _series(names, where, settings, store, metric, workers, columns + ["value"], sql,
                   lambda rows: ([*cells, math.nan if special == 1 else value]
                                 for *cells, value, special in rows))


def final(*names, metric=None, workers=False, where=None, settings="differing", store=None):
    """The last `value` of each metric, and the `best` with its `best_gradients` where the metric
    has a `better` direction: -1 lower, +1 higher, 0 neither. The rest is as in points()."""
    columns = ["metric", "worker", "unit", "better", "value", "best", "best_gradients"]
    sql = """SELECT metric, worker, unit, better, last, last_special, best, best_gradients
             FROM series_list WHERE run = ? AND {} ORDER BY metric, worker, attempt"""

    def read(rows):
        found = {}  # of each series: the last attempt's last value, and the best of all attempts
        for metric, worker, unit, better, last, special, best, when in rows:
            before = found.get((metric, worker), [None, None])[-2:]
            if best is None or before[0] is not None and better * best <= better * before[0]:
                best, when = before
            found[metric, worker] = [metric, worker, unit, better,
                                     math.nan if special == 1 else last, best, when]
        return found.values()
    return _series(names, where, settings, store, metric, workers, columns, sql, read)


def compare(*names, settings="differing", store=None, **options):
    """What `acid compare --json` says: `group`, `algorithm`, `label`, settings, `metric`, the
    estimate over seeds (`n`, `mean`, `ci_low` and so on) and, where one was taken, the difference
    to the group `baseline` (`difference`, `difference_ci_low`, `p_holm`, `verdict` and so on).
    Options are the command's, as in compare("first", by=["workers.count"], at="seconds=2.67min",
    only_changed=True). `attrs` has `heading`, `primary`, `verdict`, `notes`, `caveats` (the notes
    with their kinds, groups and metrics) and `selections`.
    The program is `acid` on PATH, or what the environment variable ACID names."""
    program = shutil.which(os.environ.get("ACID") or "acid")
    if program is None:
        raise AcidError("the program acid is neither on PATH nor where the environment variable "
                        "ACID says: name it there")
    command = [program, "compare", "--json", f"--store={_folder(store)}"]
    for name, value in options.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None and one is not False:
                command.append("--" + name.replace("_", "-") + ("" if one is True else f"={one}"))
    done = subprocess.run([*command, "--", *names], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise AcidError(done.stderr.decode(errors="replace").strip() or f"{program} failed")
    document = json.loads(done.stdout)
    if "groups" not in document:
        raise AcidError(f"compare() has no table for {', '.join(options)}")
    rows = _comparison_rows(document)
    keys = _setting_keys(rows, settings)
    head = ["group", "algorithm", "label"]
    own = dict.fromkeys(["metric", "n", "mean", *(name for row in rows for name in row)])
    own = [name for name in own if name not in [*head, "settings"]]
    table = _table(head + keys + own, [[row[name] for name in head] + _cells(row, keys)
                                       + [row.get(name) for name in own] for row in rows])
    table.attrs.update((name, document[name]) for name in
                       ("heading", "primary", "verdict", "notes", "caveats", "selections"))
    return table


def _comparison_rows(document):
    rows = {}
    for group in document["groups"]:
        head = {name: group[name] for name in ("group", "algorithm", "label", "settings")}
        for metric, estimate in group["metrics"].items():
            rows[group["group"], metric] = {**head, "metric": metric, **estimate,
                                            "runs_group": group["runs_group"]}
    for difference in document["differences"]:
        row = rows[difference["group"], difference["metric"]]
        for name, value in difference.items():  # by the names of `acid compare --csv`
            if name in ("mean", "n", "sd", "se", "ci_low", "ci_high", "diverged"):
                name = "difference" if name == "mean" else "difference_" + name
            row[name] = value
    return list(rows.values())


def _folder(store):
    folder = pathlib.Path(store or os.environ.get("ACID_STORE") or "acid-store")
    if not (folder / "store.db").is_file():
        raise AcidError(f"there is no store in {folder}; 'acid run RECIPE' creates one, store= or "
                        "ACID_STORE names another folder")
    return folder


@contextlib.contextmanager
def _open(store):
    """One state of the store, unchanged by writes meanwhile."""
    folder = _folder(store)
    file = (folder / "store.db").resolve()
    # Readers need a file beside it. Where there is none and none can be made, no process writes.
    alone = not os.access(folder, os.W_OK) and not (folder / "store.db-shm").exists()
    mode = "mode=ro&immutable=1" if alone else "mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?{mode}", uri=True, timeout=60,
                                                isolation_level=None)) as db:
            db.execute("PRAGMA trusted_schema = OFF")
            if (db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION
                    or db.execute("PRAGMA user_version").fetchone()[0] < _SCHEMA):
                raise AcidError(f"{file} is not this acid's; an older store 'acid run' updates")
            db.execute("BEGIN")
            yield db
    except sqlite3.Error as error:
        raise AcidError(f"cannot read {file}: {error}; see 'acid doctor --store'") from error


def _selected(db, names, where):
    """The requested rows of run_list, as dictionaries, and their columns."""
    cursor = db.execute("SELECT * FROM run_list ORDER BY max(coalesce(started, ''), created) DESC")
    other = {"id": "run", "group_digest": "group"}
    columns = [other.get(column[0], column[0]) for column in cursor.description]
    found = {cells[columns.index("run")]: dict(zip(columns, cells)) for cells in cursor}
    asked = [_resolve(db, name, found) for name in names]
    ids = list(dict.fromkeys(run for _, runs in asked for run in runs))
    named = [experiment for experiment, _ in asked if experiment]
    _see_as_asked(db, ids, named, found)  # without names as in the newest experiment of each run
    ids = ids if names else list(found)
    if where is not None:
        try:
            kept = {run for run, in _where(db, where, [found[run] for run in ids], cursor)}
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise AcidError(f"cannot select runs by {where!r}: {error}; expected an SQL expression "
                            f"over {', '.join(each[0] for each in cursor.description)}") from None
        ids = [run for run in ids if run in kept]
    for run in ids:
        found[run]["settings"] = json.loads(found[run]["settings"])
        found[run]["seed"] %= 1 << 64  # SQLite's integers have a sign
    return [found[run] for run in ids], columns


def _where(db, where, runs, cursor):
    """The ids of those for which it holds, with the labels and roles that the runs have here."""
    seen = ("experiment", "experiment_name", "label", "role")
    columns = ", ".join(f"coalesce(seen_{each[0]}, {each[0]}) AS {each[0]}" if each[0] in seen
                        else each[0] for each in cursor.description)
    names = ", ".join(f"json_extract(value, '$[{at + 1}]') AS seen_{name}"
                      for at, name in enumerate(seen))
    return db.execute(f"""
        WITH seen AS (SELECT CAST(json_extract(value, '$[0]') AS TEXT) AS seen_id, {names} FROM json_each(?1)),
             run_list AS (SELECT {columns} FROM main.run_list LEFT JOIN seen ON seen_id = id)
        SELECT id FROM run_list WHERE (\n{where}\n)""",
                      [json.dumps([[run["run"], *(run[name] for name in seen)] for run in runs])])


def _resolve(db, name, found):
    """The experiment that a name is of, or None, and the runs."""
    experiments = db.execute("SELECT experiment, name FROM experiment_list GROUP BY experiment "
                             "ORDER BY max(created) DESC").fetchall()
    known = [*found, *(experiment for experiment, _ in experiments)]
    fits = ([experiment for experiment, title in experiments if name in (title, "@latest")][:1]
            or [one for one in known if one == name]
            or [one for one in known if name and one.startswith(name)])
    if len(fits) > 1:
        raise AcidError(f"{name!r} could be any of {', '.join(fits)}; give more of the id")
    if not fits and db.execute("SELECT 1 FROM series_list WHERE metric = ?", [name]).fetchone():
        raise AcidError(f"{name!r} is a metric, no run or experiment: metric={name!r} selects it")
    if not fits:
        known += [title for _, title in experiments]
        raise AcidError(f"no run or experiment matches {name!r}{_meant(name, known)}")
    if fits[0] in found:
        return None, fits
    return fits[0], [run for run, in db.execute(
        "SELECT run FROM experiment_list WHERE experiment = ? ORDER BY position", fits)]


def _see_as_asked(db, ids, named, found):
    """Gives runs the label and role that they have in the first named experiment, else in the
    largest, then newest, of which all runs are among `ids`."""
    among = "run IN (SELECT value FROM json_each(?1))"
    for run, label, role, experiment, name in db.execute(f"""
            SELECT run, label, role, experiment, name FROM experiment_list JOIN (
              SELECT experiment, count(*) AS size FROM experiment_list GROUP BY experiment
              HAVING sum({among}) > 0 AND (sum(role = '' AND NOT {among}) = 0
                OR experiment IN (SELECT value FROM json_each(?2)))) USING (experiment)
            LEFT JOIN json_each(?2) named ON named.value = experiment
            WHERE {among}
            ORDER BY named.key IS NOT NULL, named.key DESC, size, created""",
            [json.dumps(ids), json.dumps(named)]):  # what comes last stays
        found[run].update(label=label, role=role, experiment=experiment, experiment_name=name)


def _series(names, where, settings, store, metric, workers, columns, sql, read):
    """The run's identity columns, before the columns that `read` makes of its rows."""
    metrics = [metric] if isinstance(metric, str) else list(metric or [])
    sql = sql.format(("1" if workers else "worker IS NULL") + (
        f" AND metric IN ({', '.join('?' for _ in metrics)})" if metrics else ""))
    with _open(store) as db:
        selected = _selected(db, names, where)[0]
        keys = _setting_keys(selected, settings)
        known = [name for name, in db.execute("SELECT DISTINCT metric FROM series_list")]
        for name in metrics:
            if known and name not in known:
                raise AcidError(f"no run has the metric {name!r}{_meant(name, known)}")
        rows = []
        for run in selected:
            head = [run[name] for name in _HEAD] + _cells(run, keys)
            rows += [head + cells for cells in read(db.execute(sql, [run["run"], *metrics]))]
    return _table(_HEAD + keys + columns, rows)


def _flat(settings, prefix=""):
    for key, value in settings.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{key}.")
        elif prefix:  # others are the seed, and a topology that is not read
            yield prefix + key, value


def _setting_keys(rows, settings):
    """The keys that are columns. Flattens the rows' settings."""
    if settings not in ("differing", "all", "none"):
        raise AcidError(f"settings={settings!r}; expected 'differing', 'all' or 'none'")
    for row in rows:
        row["settings"] = dict(_flat(row["settings"]))
    keys = sorted({key for row in rows for key in row["settings"]} - {"algorithm.kind"})
    # By their texts, since Python takes True for 1.
    return [key for key in keys if settings == "all" or settings == "differing" and
            len({str(row["settings"].get(key)) for row in rows}) > 1]


def _cells(row, keys):
    return [json.dumps(value, separators=(",", ":")) if isinstance(value, (list, dict)) else value
            for value in map(row["settings"].get, keys)]


def _meant(name, known):
    near = difflib.get_close_matches(name, known, 1)
    return f" (did you mean {near[0]!r}?)" if near else f"; there are {', '.join(known[:20])}"


def _shown(cell):
    text = "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= 32 else text[:29] + "..."


def _table(columns, rows):
    if pandas is None:
        return Table([dict(zip(columns, row)) for row in rows], columns)
    table = pandas.DataFrame(rows, columns=columns)
    for at, name in enumerate(columns):
        if {type(row[at]) for row in rows} == {int, type(None)}:  # which pandas makes floats
            table[name] = pandas.array([row[at] for row in rows], dtype="Int64")
    return table
