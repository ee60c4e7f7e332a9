"""Links between memories: how a template names a link's target, and how stored links and new ones are merged."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ovstore.errors import MergeError
from ovstore.memory.files import unfit

Link = Mapping[str, Any]

_KNOWN_BY: Final = ("from_uri", "to_uri", "match_text")


def uri_basename(uri: str | None) -> str:
    """Return the last component of a URI without `.md`.

    >>> uri_basename("viking://user/u1/memories/recipes/miso ramen.md")
    'miso ramen'
    """
    return str(uri or "").rstrip("/").rpartition("/")[2].removesuffix(".md")


def link_target(source_uri: str | None, uri: str | None) -> str:
    """Return a URI as a path relative to the file that links to it; as it is, where the two share no root.

    >>> link_target("viking://user/u1/a/x.md", "viking://user/u1/b/y.md")
    '../b/y.md'
    """
    source, target = _components(source_uri), _components(uri)
    if not source or not target or source[0] != target[0]:
        return str(uri or "")
    return posixpath.relpath("/" + "/".join(target), "/" + "/".join(source[:-1]))


def merge_links(name: str, current: Sequence[Link] | None, update: Sequence[Link] | None) -> list[dict[str, Any]]:
    """Return the stored links, in their order, and the new ones behind.

    A link is known by its ends and its text. Of one that is there already, the greater weight counts (1.0 where none
    is told), and the update's link_type and description; all else stays.
    """
    links: dict[tuple[Any, ...], dict[str, Any]] = {}
    for link in (*_checked(name, current), *_checked(name, update)):
        stored = links.setdefault(tuple(map(link.get, _KNOWN_BY)), dict(link))
        if stored != link:
            told = {key: link[key] for key in ("link_type", "description") if link.get(key) is not None}
            stored |= told | {"weight": max(_weight(stored), _weight(link))}
    return list(links.values())


def _checked(name: str, links: Sequence[Link] | None) -> Sequence[Link]:
    why = unfit(links)
    if not why and not (links is None or (isinstance(links, (list, tuple)) and all(map(_is_link, links)))):
        why = "it takes a list of links, each a mapping with the texts from_uri and to_uri, and a number for weight"
    if why:
        raise MergeError(f"{name}: {why}", field=name)
    return links or ()


def _is_link(link: object) -> bool:
    if not isinstance(link, Mapping) or not all(isinstance(link.get(end) or "", str) for end in _KNOWN_BY):
        return False
    return isinstance(link.get("weight"), (int, float, type(None))) and not isinstance(link.get("weight"), bool)


def _weight(link: Link) -> float:
    weight = link.get("weight")
    return 1.0 if weight is None else weight


def _components(uri: str | None) -> list[str]:
    return [component for component in str(uri or "").partition("://")[2].split("/") if component]
