"""Finds models in a store (gcc-graph store add). Reads the view `found` of the store's database, which is meant for readers in other
languages."""
import os
import re
import sqlite3

from ._errors import GartError

_REFERENCE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,127})(?:@([1-9][0-9]{0,17}))?")
_APPLICATION, _FORMAT = 0x47535452, 2  # as in tools/store/schema.h


def find(store, model):
    """(path, signature, name) of the artifact of "ID" (the latest version) or "ID@VERSION" in the folder `store`. `signature`: bytes, empty if it
    was added without one. `name`: "ID@VERSION"."""
    store = os.fspath(store)
    match = _REFERENCE.fullmatch(model)
    if not match:
        raise GartError(f"'{model}' is not a model of a store: expected ID or ID@VERSION")
    database = os.path.join(store, "store.sqlite")
    if not os.path.isfile(database):
        raise GartError(f"{store} is not a store of models: it has no file store.sqlite")
    try:
        connection = sqlite3.connect(database, timeout=30)
        try:
            mark = tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
            if mark != (_APPLICATION, _FORMAT):
                raise GartError(f"{database} is not the database of a store that this version knows")
            row = connection.execute("SELECT file, found.bytes, signature, version FROM found JOIN versions USING (id, version) "
                                     "WHERE id = ? AND ? IN (0, version) ORDER BY version DESC LIMIT 1", (match[1], int(match[2] or 0))).fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise GartError(f"{database}: {error}") from error
    if row is None:
        raise GartError(f"the store {store} has no model '{model}'")
    path = os.path.join(store, row[0])
    size = os.path.getsize(path) if os.path.isfile(path) else -1
    if size != row[1]:
        raise GartError(f"{path} was changed: it is not the file that was added as {model}")
    return path, bytes.fromhex(row[2]), f"{match[1]}@{row[3]}"
