"""`acid export --crate`, judged by what RO-Crate 1.3, Process Run Crate 0.6 and Workflow Testing
RO-Crate 0.2 demand, and by doing what REPRODUCE.md says. Knows nothing of how acid makes it."""
import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import urllib.parse
import zipfile

from bench import bench

PROFILE = "https://w3id.org/ro/wfrun/process/0.6"
WORKFLOW = "https://w3id.org/workflowhub/workflow-ro-crate/1.1"
TESTING = "https://w3id.org/ro/wftest/0.2"
RO_CRATE = "https://w3id.org/ro/crate/1.3"
CLAIM = """
[[claims]]
name = "pairs send less"
kind = "ratio"
algorithm = "pairs"
than = "ar-sgd"
metric = "bytes"
bounds = [0.01, 0.9]
"""


def listed(value):
    return value if isinstance(value, list) else [value]


def files_below(folder):
    for place, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(place, name), folder)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def check_files(folder, graph):
    """Every file is described, and every description is of a file that is as it says."""
    described = {entity["@id"]: entity for entity in graph.values()
                 if "File" in listed(entity["@type"])}
    for name, entity in described.items():
        path = os.path.join(folder, urllib.parse.unquote(name))
        assert os.path.isfile(path), name
        assert entity["name"] and entity["encodingFormat"], name
        if name == "SHA256SUMS":
            continue
        assert entity["contentSize"] == str(os.path.getsize(path)), name
        assert entity["sha256"] == digest(path), name
    parts = {part["@id"] for part in graph["./"]["hasPart"]}
    assert parts == set(described)
    website = {"ro-crate-metadata.json", "ro-crate-preview.html"}
    assert parts | website == set(files_below(folder)), "a file without a description"
    sums = {}
    with open(os.path.join(folder, "SHA256SUMS"), encoding="ascii") as file:
        for line in file:
            value, name = line.rstrip("\n").split("  ")
            sums[name] = value
    assert set(sums) == set(files_below(folder)) - {"SHA256SUMS"}
    for name, value in sums.items():
        assert value == digest(os.path.join(folder, name)), name


def check_frame(graph, profiles):
    descriptor, root = graph["ro-crate-metadata.json"], graph["./"]
    assert descriptor["@type"] == "CreativeWork" and descriptor["about"] == {"@id": "./"}
    assert descriptor["conformsTo"] == {"@id": RO_CRATE}
    assert root["@type"] == "Dataset" and root["name"] and root["description"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", root["datePublished"])
    assert [each["@id"] for each in listed(root["conformsTo"])] == profiles
    for profile in profiles:
        assert "CreativeWork" in listed(graph[profile]["@type"]), profile
        assert profile.endswith("/" + graph[profile]["version"]) and graph[profile]["name"]
    assert graph[root["license"]["@id"]]["@type"] == "CreativeWork"
    assert graph[root["author"]["@id"]] == {
        "@id": root["author"]["@id"], "@type": "Person", "name": "Ada <L> \"Ö\""}


def check_tests(graph):
    """The claims are a test suite of the main workflow, with a definition for an engine."""
    root = graph["./"]
    workflow = graph[root["mainEntity"]["@id"]]
    assert workflow["@id"] == "recipe.toml"
    assert set(workflow["@type"]) == {"File", "SoftwareSourceCode", "ComputationalWorkflow"}
    assert graph[workflow["programmingLanguage"]["@id"]]["@type"] == "ComputerLanguage"
    suites = [graph[each["@id"]] for each in root["mentions"]
              if graph[each["@id"]]["@type"] == "TestSuite"]
    assert len(suites) == 1 and suites[0]["name"]
    assert listed(suites[0]["mainEntity"]) == [{"@id": "recipe.toml"}]
    definition = graph[suites[0]["definition"]["@id"]]
    assert set(definition["@type"]) == {"File", "TestDefinition"}
    engine = graph[definition["conformsTo"]["@id"]]
    assert engine["@type"] == "SoftwareApplication" and engine["name"] == "acid"
    assert definition["engineVersion"] == ">=" + engine["softwareVersion"]


def check_actions(graph, attempts):
    actions = [entity for entity in graph.values() if entity["@type"] == "CreateAction"]
    assert len(actions) == attempts
    mentioned = {each["@id"] for each in graph["./"]["mentions"]
                 if graph[each["@id"]]["@type"] != "TestSuite"}
    assert mentioned == {action["@id"] for action in actions}
    for action in actions:
        tool = graph[action["instrument"]["@id"]]
        assert tool["@type"] == "SoftwareApplication" and tool["name"] == "acid"
        assert tool["softwareVersion"] and "version" not in tool
        assert action["name"] and action["description"]
        assert action["startTime"] <= action["endTime"]
        assert action["actionStatus"]["@id"] == "http://schema.org/CompletedActionStatus"
        assert "error" not in action
        assert graph[action["agent"]["@id"]]["@type"] == "Person"
        inputs = [graph[each["@id"]] for each in listed(action["object"])]
        values = {each["name"]: each["value"] for each in inputs if each["@type"] == "PropertyValue"}
        assert values["seed"] in (1, 2) and values["optimizer.learning_rate"] == 0.05
        assert "recipe.toml" in [each["@id"] for each in inputs]
        for each in listed(action["result"]):
            assert "File" in listed(graph[each["@id"]]["@type"])


def read_graph(folder):
    with open(os.path.join(folder, "ro-crate-metadata.json"), encoding="utf-8") as file:
        document = json.load(file)
    assert document["@context"] == [
        RO_CRATE + "/context", "https://w3id.org/ro/terms/workflow-run/context",
        "https://w3id.org/ro/terms/test"]
    graph = {entity["@id"]: entity for entity in document["@graph"]}
    assert len(graph) == len(document["@graph"]), "two entities of one name"

    def check_references(value):
        if isinstance(value, dict) and set(value) == {"@id"}:
            known = value["@id"] in graph or value["@id"].startswith("http")
            assert known, value
        for each in value.values() if isinstance(value, dict) else listed(value):
            if isinstance(each, (dict, list)):
                check_references(each)

    for entity in graph.values():
        check_references(entity)
    return graph


def check_reproduces(acid, folder):
    """The commands of REPRODUCE.md that are acid's, run as they stand."""
    with open(os.path.join(folder, "REPRODUCE.md"), encoding="utf-8") as file:
        text = file.read()
    blocks = "".join(re.findall(r"```sh\n(.*?)```", text, re.S))
    commands = [line.split("#")[0].strip() for line in blocks.splitlines()]
    wanted = ("sha256sum", "cp ", "acid ")
    commands = [line for line in commands if line.startswith(wanted) and " RUN " not in line]
    assert len(commands) == 8, commands
    environment = dict(acid.environment)
    environment["PATH"] = os.path.dirname(acid.program) + ":" + environment["PATH"]
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=folder, env=environment,
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        if " verify " in command:
            assert done.stdout.count(" verified") == 4, done.stdout
    check_files_unchanged = subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=folder)
    assert check_files_unchanged.returncode == 0, "following the instructions altered the crate"
    ids = [run["id"] for run in json.loads(acid.call("list", "--json"))["runs"]]
    for run in ids:
        assert run in text
    return ids


def mean_of(acid, run, store):
    return json.loads(acid.call("show", run, "--store", store, "--json"))["digests"]["mean"]


def main(program):
    statement = ("--author", 'Ada <L> "Ö"', "--license", "https://example.org/licence")
    with bench(program) as acid:
        acid.run(overrides=("--set", "evaluation.every_gradients=100"))
        assert acid.call("export", "small", "--crate", "crate.zip", *statement) == "crate.zip\n"
        acid.call("export", "small", "--crate", "crate", *statement)
        acid.call("export", "small", "--crate", "same.zip", *statement)
        assert digest(acid.path("crate.zip")) == digest(acid.path("same.zip"))
        with zipfile.ZipFile(acid.path("crate.zip")) as archive:
            assert archive.testzip() is None
            assert sorted(archive.namelist()) == sorted(files_below(acid.path("crate")))
            for name in archive.namelist():
                with open(os.path.join(acid.path("crate"), name), "rb") as file:
                    assert archive.read(name) == file.read(), name
        graph = read_graph(acid.path("crate"))
        check_frame(graph, [PROFILE])
        assert not any(entity["@type"] == "TestSuite" for entity in graph.values())
        check_files(acid.path("crate"), graph)
        check_actions(graph, 4)
        with open(acid.path("crate/metrics.csv"), encoding="utf-8") as file:
            assert len({row["run"] for row in csv.DictReader(file)}) == 4
        for run in check_reproduces(acid, acid.path("crate")):
            assert mean_of(acid, run, "crate/again") == mean_of(acid, run, "acid-store")

        with open(acid.path("small.toml"), encoding="utf-8") as file:
            recipe = file.read()
        with open(acid.path("claimed.toml"), "w", encoding="utf-8") as file:
            file.write(recipe.replace('"small"', '"claimed"') + CLAIM)
        acid.call("run", "claimed.toml", "--set", "evaluation.every_gradients=100")
        acid.call("export", "claimed", "--crate", "claimed", *statement)
        graph = read_graph(acid.path("claimed"))
        check_frame(graph, [PROFILE, WORKFLOW, TESTING])
        check_files(acid.path("claimed"), graph)
        check_tests(graph)
        check_actions(graph, 4)
        with open(acid.path("claimed/claims.json"), encoding="utf-8") as file:
            claims = json.load(file)["claims"]
        assert [claim["name"] for claim in claims] == ["pairs send less"]
        assert claims[0]["verdict"] == "cannot be told"  # two seeds
        acid.call("claim", "check", "claimed", code=5)

        for taken in ("crate", "small.toml"):
            acid.call("export", "small", "--crate", taken, code=2)
            assert "name another" in acid.said
        acid.call("export", "small", "--crate", "no/such/folder.zip", code=1)
        assert "cannot create" in acid.said
        hostile = '"../../<b>\\" | `rm` שלום"'
        acid.run("threads", hostile, "threads")
        acid.call("export", "threads", "small", "--crate", "both")
        graph = read_graph(acid.path("both"))
        recipes = [name for name in graph if name.endswith(".toml")]
        assert len(recipes) == 2 and all(name.startswith("recipes/") for name in recipes)
        verified = acid.call("verify", "threads", "--store", acid.path("both/acid-store"))
        assert verified.count(" verified") == 4, verified
        assert acid.listed() == ["acid-store", "both", "claimed", "claimed.toml", "crate",
                                 "crate.zip", "same.zip", "small.toml", "threads.toml"]


if __name__ == "__main__":
    main(sys.argv[1])
