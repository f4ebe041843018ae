"""What the tour adds to the look of all pages: pairs of pictures, code, a table of contents, and paper."""

_LIGHT = "--soft:#59636d;--panel:#f3f5f7;--keyword:#8a3fa0;--text:#0a6b3d;--number:#a34700;"
_DARK = "--soft:#a3adb7;--panel:#1e242b;--keyword:#d29be6;--text:#86d6a5;--number:#f0a06a;"
_SHOW_DARK = "img.light{display:none}%s img.dark{display:block}"

CSS = (
    f"""
:root{{{_LIGHT}}}
/* One of each pair of pictures is shown. A <picture> would do it too, but a dark screen would print dark. */
img.dark{{display:none}}
@media screen and (prefers-color-scheme:dark){{
:root:not([data-theme=light]){{{_DARK}}}
:root:not([data-theme=light]) {_SHOW_DARK % ":root:not([data-theme=light])"}
}}
@media screen{{:root[data-theme=dark]{{{_DARK}}}
:root[data-theme=dark] {_SHOW_DARK % ":root[data-theme=dark]"}
}}
"""
    + """
html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
body{max-width:46rem;padding-bottom:4rem;font-size:1.05rem;line-height:1.55}
h1{font-size:2rem}
h2{font-size:1.35rem;line-height:1.3;margin:0 0 .75rem;text-wrap:balance}
h3{font-size:1rem;margin:1rem 0 0}
nav{border-block:1px solid var(--faint);margin:1.5rem 0}
nav ol{columns:2 14rem;padding-left:1.5rem;margin:.75rem 0}
nav li{padding:.2rem 0;break-inside:avoid}
section{margin:3rem 0}
.title{margin:0 0 .15rem;color:var(--soft);font-size:.85rem;font-weight:600}
figure{margin:0}
img{width:100%;height:auto}
figcaption{margin:.6rem 0 1rem}
.listing{position:relative;margin-top:1rem}
.listing .copy{position:absolute;right:.4rem;top:-.9rem;font-size:.8rem}
pre{margin:0;padding:.8rem 1rem;overflow-x:auto;background:var(--panel);border-radius:.4rem;font-size:.86rem}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
p code{font-size:.92em}
.setup{opacity:.72}
.k,.kn,.kc,.ow{color:var(--keyword)}
.s1,.s2,.sa,.si{color:var(--text)}
.mf,.mi{color:var(--number)}
.c1{color:var(--soft);font-style:italic}
.wide table{font-size:.92rem;width:100%}
input[type=range]{width:100%}
footer{border-top:1px solid var(--faint);color:var(--soft);font-size:.9rem}
@media (max-width:30rem){
img{width:calc(100% + 1.2rem);margin-inline:-.6rem}
pre{font-size:.78rem}
}
@media print{
body{max-width:none;padding:0;font-size:10.5pt}
nav,.copy,.theme,.controls{display:none}
section{margin:1.5rem 0}
img{width:12cm}
h2,.title{break-after:avoid}
img,pre,tr{break-inside:avoid}
pre{white-space:pre-wrap;border:1px solid var(--faint)}
}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
"""
)
