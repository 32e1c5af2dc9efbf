"""What the documents say is what happens: sessions are run and their output compared, the table of settings is the command's,
links lead somewhere. TL_WRITE_DOCS=1 writes what has changed into the documents instead of failing."""
import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
WRITE = os.environ.get("TL_WRITE_DOCS") == "1"
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/*.md")])
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)


def commands_of(block):
    """[(lines of one command as typed, lines of its output)]; a line ending in \\, | or inside quotes goes on."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(([line], []))
        elif found and not found[-1][1] and goes_on(found[-1][0]):
            found[-1][0].append(line)
        else:
            found[-1][1].append(line)
    return found


def goes_on(typed):
    text = "\n".join(typed)
    return text.endswith(("\\", "|")) or text.count('"') % 2 == 1


def masked(text):
    """Without what differs from run to run: times, rates, ids and places."""
    text = re.sub(r"\d+ ms \[[\d.]+s\]", "# ms [#s]", text)
    text = re.sub(r"[\d.]+s \(\d+ rows/s\)", "#s (# rows/s)", text)
    text = re.sub(r" in [\d.]+s → v", " in #s → v", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z", "#now", text)
    return re.sub(r"file:///\S+|\b\d{15,19}\b", "#", text)


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if BLOCK.search(d.read_text())], ids=lambda d: d.name)
def test_sessions_are_what_happens(command, weather, tmp_path, document):
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "timelake").symlink_to(command)
    (tmp_path / ".deps").mkdir()
    (tmp_path / ".deps" / "weather.csv").symlink_to(weather)
    text = was = document.read_text()
    for block in BLOCK.findall(was):
        new = []
        for typed, expected in commands_of(block):
            line = "\n".join(typed).removeprefix("$ ")
            run = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
            if not WRITE:
                assert masked(run.stdout).splitlines() == [masked(e) for e in expected], line
            new += typed + (run.stdout.splitlines() if masked(run.stdout).splitlines() != [masked(e) for e in expected] else expected)
        text = text.replace(block, "\n".join(new) + "\n")
    if WRITE and text != was:
        document.write_text(text)


def settings_table(command):
    rows = [json.loads(line) for line in subprocess.run([command, "settings", "--json"], capture_output=True, text=True, check=True).stdout.splitlines()]
    lines = ["| setting | default | where | what it does |", "|---|---|---|---|"]
    for r in rows:
        lines.append(f"| `{r['setting']}` | {r['default'] or ''} | {r['levels']} | {r['description']} |")
    return "\n".join(lines) + "\n"


def test_the_table_of_settings_is_complete(command):
    path = ROOT / "docs" / "settings.md"
    before, _, rest = path.read_text().partition("| setting |")
    old, blank, after = rest.partition("\n\n")
    table = settings_table(command)
    if WRITE:
        path.write_text(before + table + "\n" + after)
    else:
        assert "| setting |" + old + "\n" == table


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text()):
        if "://" not in target:
            assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_commands_that_documents_name_exist(command, document):
    known = subprocess.run([command, "help"], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"^       ([a-z]+) {2,}", known, re.M)) | {"help", "version"}
    assert {"append", "sql"} <= names
    for name in re.findall(r"`timelake ([a-z]+)[ `]", document.read_text()):
        assert name in names, name


def test_make_targets_that_documents_name_exist():
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.M))
    for document in DOCUMENTS:
        for name in re.findall(r"`make ([a-z][a-z0-9-]*)", document.read_text()):
            assert name in targets, (document.name, name)
