"""Links between memories: how a template names a link's target, and how stored links and new ones are merged."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from ovstore.errors import MergeError

Link = Mapping[str, Any]


def uri_basename(uri: str | None) -> str:
    """Return the last component of a URI without `.md`.

    >>> uri_basename("viking://user/u1/memories/recipes/miso ramen.md")
    'miso ramen'
    """
    return (uri or "").rstrip("/").rpartition("/")[2].removesuffix(".md")


def link_target(source_uri: str | None, uri: str | None) -> str:
    """Return a URI as a path relative to the file that links to it; as it is, where the two share no root.

    >>> link_target("viking://user/u1/a/x.md", "viking://user/u1/b/y.md")
    '../b/y.md'
    """
    source, target = _components(source_uri), _components(uri)
    if not source or not target or source[0] != target[0]:
        return uri or ""
    return posixpath.relpath("/" + "/".join(target), "/" + "/".join(source[:-1]))


def merge_links(name: str, current: Sequence[Link] | None, update: Sequence[Link] | None) -> list[dict[str, Any]]:
    """Return the stored links, in their order, and the new ones behind.

    A link is known by its ends and its text. Of one that is there already, the greater weight counts (1.0 where none
    is told), and the update's link_type and description; all else stays.
    """
    links: dict[tuple[Any, ...], dict[str, Any]] = {}
    for link in (*(current or ()), *(update or ())):
        if not isinstance(link, Mapping):
            raise MergeError(f"{name}: a link is a mapping with from_uri and to_uri", field=name)
        stored = links.setdefault(tuple(link.get(end) for end in ("from_uri", "to_uri", "match_text")), dict(link))
        if stored != link:
            told = {key: link[key] for key in ("link_type", "description") if link.get(key) is not None}
            stored |= told | {"weight": max(_weight(name, stored), _weight(name, link))}
    return list(links.values())


def _weight(name: str, link: Link) -> float:
    weight = link.get("weight")
    if weight is not None and (isinstance(weight, bool) or not isinstance(weight, (int, float))):
        raise MergeError(f"{name}: the weight of a link is no number", field=name)
    return 1.0 if weight is None else weight


def _components(uri: str | None) -> list[str]:
    return [component for component in (uri or "").partition("://")[2].split("/") if component]
