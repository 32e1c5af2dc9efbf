#!/usr/bin/env python3
"""fetch_sdist.py REQUIREMENT DIR: downloads the source package of a pinned requirement ("name==version
--hash=sha256:<hex>") by name, through pip's own finder and session, checks the hash, and prints the file's path.

`pip download` would do the same, but runs the package's build system first, only to learn its metadata: a minute of
compiling for nanoarrow, with build tools that nobody pinned. Exit status 3: this pip cannot be driven so; use it by hand.
"""
import hashlib
import pathlib
import re
import sys


def main():
    requirement, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    name, version, digest = re.fullmatch(r"(\S+)==(\S+) --hash=sha256:([0-9a-f]{64})", requirement.strip()).groups()
    try:
        from pip._internal.commands import create_command
        from pip._vendor.packaging.specifiers import SpecifierSet
        command = create_command("download")
        options, _ = command.parse_args(["--no-binary", name, name])
        with command.main_context():
            session = command.get_default_session(options)
            finder = command._build_package_finder(options, session)
            found = finder.find_best_candidate(name, SpecifierSet(f"=={version}")).best_candidate
            content = session.get(found.link.url_without_fragment, headers={"Accept-Encoding": "identity"}).content
    except Exception as e:  # a pip with other insides, or no network: the caller falls back, and says so
        print(f"fetch_sdist.py: {e!r}", file=sys.stderr)
        sys.exit(3)
    if hashlib.sha256(content).hexdigest() != digest:
        sys.exit(f"{name} {version}: the source package has another hash than the pinned {digest}")
    path = directory / found.link.filename
    path.write_bytes(content)
    print(path)


main()
