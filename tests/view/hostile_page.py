"""Forty memories that would run or send something on a page that took their text for markup."""

from __future__ import annotations

CANARY = "http://127.0.0.1:{port}/{n}"

PAYLOADS = (
    "<script>window.ran = {n}; fetch('{url}')</script>",
    "<script src={url}></script>",
    "</script><script>window.ran = {n}</script>",
    "<!--</script><script>window.ran = {n}</script>-->",
    "</style><script>window.ran = {n}</script>",
    "</title><script>window.ran = {n}</script>",
    "</textarea><script>window.ran = {n}</script>",
    "<img src={url}>",
    "<img src=x onerror='window.ran = {n}'>",
    "<img src=x onerror=\"fetch('{url}')\">",
    "<svg onload='window.ran = {n}'><use href='{url}#x'/></svg>",
    "<svg><script>window.ran = {n}</script></svg>",
    "<math><mtext></mtext><script>window.ran = {n}</script></math>",
    "<body onload='window.ran = {n}'>",
    "<iframe src='{url}'></iframe>",
    "<iframe srcdoc='<script>parent.ran = {n}</script>'></iframe>",
    "<object data='{url}'></object><embed src='{url}'>",
    "<link rel=stylesheet href={url}>",
    "<link rel=prefetch href={url}><link rel=preconnect href={url}>",
    "<style>@import '{url}'; body {{ background: url({url}) }}</style>",
    "<p style='background-image: url({url})'>styled</p>",
    "<meta http-equiv=refresh content='0; url={url}'>",
    "<base href='{url}/'>",
    "<form action='{url}' id=f><button autofocus onfocus='window.ran = {n}'>",
    "<input autofocus onfocus='window.ran = {n}'>",
    "<details open ontoggle='window.ran = {n}'>",
    "<video src={url} onerror='window.ran = {n}'></video><audio src={url}></audio>",
    "<a href='javascript:window.ran = {n}'>look</a>",
    "[look](javascript:window.ran={n})",
    "![look]({url})",
    "javascript:window.ran={n}",
    "{url}",
    "'; window.ran = {n}; //",
    '"; window.ran = {n}; //',
    "`; window.ran = {n}; //` ${{window.ran = {n}}}",
    "]]><script>window.ran = {n}</script>",
    "&lt;script&gt;window.ran = {n}&lt;/script&gt;",
    "\\u003cscript\\u003ewindow.ran = {n}\\u003c/script\\u003e",
    '{{"__proto__": {{"ran": {n}}}, "constructor": {{"prototype": {{"ran": {n}}}}}}}',
    "<template><script>window.ran = {n}</script></template><portal src={url}></portal>",
)


def hostile(port: int) -> list[str]:
    """The texts; whatever runs sets `window.ran`, and whatever leaves asks the canary."""
    return [text.format(n=n, url=CANARY.format(port=port, n=n)) for n, text in enumerate(PAYLOADS)]
