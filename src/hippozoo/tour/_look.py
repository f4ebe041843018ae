"""How the page looks: readable on a phone and on a desk, on light and dark screens, and on paper."""

CSS = """
    :root {
      --ink: #1c2126; --soft: #59636d; --paper: #ffffff; --panel: #f3f5f7; --line: #d5dade; --link: #00629b;
      --keyword: #8a3fa0; --text: #0a6b3d; --number: #a34700;
    }
    /* One of each pair of pictures is shown. A <picture> would do it too, but a dark screen would print dark. */
    .dark { display: none; }
    @media screen and (prefers-color-scheme: dark) {
      .light { display: none; }
      .dark { display: block; }
      :root {
        --ink: #e4e8ec; --soft: #a3adb7; --paper: #14181d; --panel: #1e242b; --line: #3a424b; --link: #6cbcf0;
        --keyword: #d29be6; --text: #86d6a5; --number: #f0a06a;
      }
    }
    * { box-sizing: border-box; }
    html { scroll-behavior: smooth; -webkit-text-size-adjust: 100%; }
    body {
      margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 44rem;
      color: var(--ink); background: var(--paper);
      font: 1.05rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
    }
    h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 0.75rem; }
    h2 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 0.75rem; text-wrap: balance; }
    a { color: var(--link); }
    nav { border-block: 1px solid var(--line); margin: 1.5rem 0; }
    nav ol { columns: 2 14rem; padding-left: 1.5rem; margin: 0.75rem 0; }
    nav li { padding: 0.2rem 0; break-inside: avoid; }
    section { margin: 3rem 0; }
    .title { margin: 0 0 0.15rem; color: var(--soft); font-size: 0.85rem; font-weight: 600; }
    figure { margin: 0; }
    img { width: 100%; height: auto; }
    figcaption { margin: 0.6rem 0 1rem; }
    pre {
      margin: 0; padding: 0.8rem 1rem; overflow-x: auto; background: var(--panel); border-radius: 0.4rem;
      font-size: 0.86rem; line-height: 1.5;
    }
    code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
    p code { font-size: 0.92em; }
    .setup { opacity: 0.72; }
    .k, .kn, .kc, .ow { color: var(--keyword); }
    .s1, .s2, .sa, .si { color: var(--text); }
    .mf, .mi { color: var(--number); }
    .c1 { color: var(--soft); font-style: italic; }
    .table { overflow-x: auto; margin: 0 0 1rem; }
    table { border-collapse: collapse; font-size: 0.92rem; width: 100%; }
    th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.8rem 0.4rem 0; }
    tr { border-bottom: 1px solid var(--line); }
    thead th { color: var(--soft); font-weight: 600; }
    footer { border-top: 1px solid var(--line); color: var(--soft); font-size: 0.9rem; }
    @media (max-width: 30rem) {
      img { width: calc(100% + 1.2rem); margin-inline: -0.6rem; }
      pre { font-size: 0.78rem; }
    }
    @media print {
      body { max-width: none; padding: 0; font-size: 10.5pt; }
      nav { display: none; }
      section { margin: 1.5rem 0; }
      img { width: 12cm; }
      h2, .title { break-after: avoid; }
      img, pre, tr { break-inside: avoid; }
      pre { white-space: pre-wrap; border: 1px solid var(--line); }
    }
    @media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
"""
