#include "run/report/page.h"

#include "run/report/svg.h"

#include <math.h>

/* Colours that people with any kind of colour vision can tell apart, and dashes besides. The ramp
 * of links is one hue from light to dark (in the dark the other way), and what is beyond it is
 * another one. */
static const char *const page_style[] = {
    ":root{color-scheme:light dark;--bg:#f7f6f3;--card:#fff;--ink:#18222d;--soft:#586673;"
    "--line:#dfe3e6;--grid:#eceef0;--accent:#0a6c9c;--bad:#b3261e;--good:#137a4b;--warn:#8a5a00;"
    "--s0:#0072b2;--s1:#c84e00;--s2:#00805c;--s3:#a4387c;--s4:#866a00;--s5:#5348b5;--s6:#5c6670;"
    "--s7:#8a3b22;--u1:#e3edf5;--u2:#bcd5e8;--u3:#86b4d7;--u4:#2b74aa;--u5:#0f4a75;--over:#c62f6d;"
    "--onlight:#18222d;--ondark:#fff;--hatch:#c9ced3}\n",
    "@media(prefers-color-scheme:dark){:root{--bg:#10161c;--card:#182029;--ink:#e7edf3;"
    "--soft:#9dabb8;--line:#2c3844;--grid:#25303b;--accent:#63bdea;--bad:#ff8a80;--good:#5fd39b;"
    "--warn:#f0c060;--s0:#5ab6ee;--s1:#ff9650;--s2:#34c79d;--s3:#e892c6;--s4:#dcc04a;--s5:#aca4fb;"
    "--s6:#aeb8c2;--s7:#dd9a7c;--u1:#1e2c39;--u2:#25455f;--u3:#2f6790;--u4:#4c94c9;--u5:#98cdf2;"
    "--over:#ff7fb0;--onlight:#e7edf3;--ondark:#0b1117;--hatch:#3c4955}}\n",
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}"
    "body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"
    "\"Segoe UI\",Roboto,\"Noto Sans\",\"DejaVu Sans\",sans-serif;"
    "font-variant-numeric:tabular-nums}"
    "main{max-width:1120px;margin:0 auto;padding:28px 20px 48px}"
    "h1{font-size:30px;line-height:1.15;margin:2px 0 10px;letter-spacing:-.01em;"
    "overflow-wrap:anywhere}"
    "h2{font-size:19px;margin:38px 0 4px}h3{font-size:15px;margin:0 0 2px;font-weight:600}"
    "p{margin:6px 0}a{color:var(--accent)}"
    ".kind{color:var(--soft);font-size:13px;letter-spacing:.04em;text-transform:uppercase}"
    ".lead{font-size:17px;max-width:62em}.soft,figcaption,.from{color:var(--soft)}"
    ".from{font-size:13px;margin:2px 0 0}.from code{font-size:12px}\n",
    ".pill{display:inline-block;border-radius:99px;padding:1px 11px;font-size:13px;font-weight:600;"
    "border:1px solid currentColor;margin-right:8px}.pill.good{color:var(--good)}"
    ".pill.bad{color:var(--bad)}.pill.warn{color:var(--warn)}"
    ".note{border-left:4px solid var(--warn);background:var(--card);padding:8px 14px;"
    "margin:14px 0;overflow-wrap:anywhere}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;"
    "margin:20px 0 0}"
    ".tile{background:var(--card);border:1px solid var(--line);border-radius:10px;"
    "padding:11px 14px 12px;min-width:0}"
    ".tile b{display:block;font-size:23px;line-height:1.25;font-weight:650;letter-spacing:-.01em;"
    "overflow-wrap:anywhere}"
    ".tile span{display:block;color:var(--soft);font-size:13px;line-height:1.35}\n",
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));"
    "gap:12px;margin-top:12px}"
    "figure,.card{margin:0;background:var(--card);border:1px solid var(--line);"
    "border-radius:10px;padding:13px 15px 11px;min-width:0}.card{margin-top:12px}"
    "svg.chart{display:block;width:100%;height:auto;margin-top:4px}"
    "svg text{font-size:12px;fill:var(--ink);font-family:inherit}"
    "svg .tick text,svg .name,svg .lanename{fill:var(--soft)}"
    ".grid path{stroke:var(--grid);fill:none}.axis{stroke:var(--soft);fill:none}"
    ".lane{stroke:var(--grid)}.when{stroke:var(--bad);stroke-opacity:.35;stroke-dasharray:2 3}"
    ".mark{stroke:var(--soft);fill:var(--soft);stroke-width:1.5}"
    ".m0{stroke:var(--bad);fill:none;stroke-width:2}.m1{stroke:var(--good);fill:var(--good)}"
    ".goal{stroke:var(--soft);stroke-dasharray:5 4;fill:none}"
    ".line{fill:none;stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}"
    ".leader.s0,.leader.s1,.leader.s2,.leader.s3,.leader.s4,.leader.s5,.leader.s6,.leader.s7{fill:"
    "none;"
    "stroke-width:1;stroke-dasharray:none;stroke-opacity:.6}"
    ".dot{stroke:none!important}\n",
    ".s0{stroke:var(--s0)}.s1{stroke:var(--s1);stroke-dasharray:8 4}"
    ".s2{stroke:var(--s2);stroke-dasharray:2 4}.s3{stroke:var(--s3);stroke-dasharray:10 3 2 3}"
    ".s4{stroke:var(--s4);stroke-dasharray:14 4}.s5{stroke:var(--s5);stroke-dasharray:5 3 1 3 1 3}"
    ".s6{stroke:var(--s6);stroke-dasharray:4 4}.s7{stroke:var(--s7);stroke-dasharray:1 3}"
    ".dot.s0,.names .s0,.b0{fill:var(--s0)}.dot.s1,.names .s1,.b1{fill:var(--s1)}"
    ".dot.s2,.names .s2,.b2{fill:var(--s2)}.dot.s3,.names .s3,.b3{fill:var(--s3)}"
    ".dot.s4,.names .s4,.b4{fill:var(--s4)}.dot.s5,.names .s5,.b5{fill:var(--s5)}"
    ".dot.s6,.names .s6,.b6{fill:var(--s6)}.dot.s7,.names .s7,.b7{fill:var(--s7)}"
    ".names text{stroke:var(--card);stroke-width:4px;stroke-dasharray:none;"
    "stroke-linejoin:round;paint-order:stroke;font-weight:600}"
    ".legend{display:flex;flex-wrap:wrap;gap:2px 18px;margin:8px 0 0;padding:0;list-style:none;"
    "font-size:14px}.legend svg{width:34px;height:12px;vertical-align:middle;margin-right:7px}"
    ".legend .key{width:13px;height:13px;margin-right:6px}\n",
    ".bars{display:grid;grid-template-columns:minmax(84px,max-content) 1fr "
    "minmax(70px,max-content);"
    "gap:7px 12px;align-items:center;margin-top:10px}"
    ".bars .who{overflow-wrap:anywhere}.bars .how{text-align:right;white-space:nowrap}"
    ".bars .words{grid-column:2/4;color:var(--soft);font-size:13px;margin:-4px 0 5px}"
    "svg.bar{display:block;width:100%;height:15px;background:var(--grid);border-radius:3px}"
    ".pale{opacity:.45}"
    ".scroll{overflow-x:auto;margin-top:10px}"
    ".beside{display:flex;flex-wrap:wrap;gap:4px 34px;align-items:flex-end}"
    ".beside .scroll{min-width:0;flex:1 1 300px;margin:0}"
    ".beside .legends{flex:0 1 auto;max-width:100%}"
    "@media(min-width:760px){.beside .legend{flex-direction:column}}"
    "table{border-collapse:collapse;width:100%;font-size:14px}"
    "th{text-align:left;color:var(--soft);font-weight:500;font-size:13px}"
    "th,td{padding:4px 10px 4px 0;border-bottom:1px solid var(--line);white-space:nowrap}"
    "td.n,th.n{text-align:right}tr:last-child td{border-bottom:0}"
    "svg.matrix{display:block;width:100%}svg.matrix text{font-size:13px}"
    "svg.matrix .small{font-size:11.5px}svg.matrix .head{fill:var(--soft)}"
    ".u0{fill:var(--card);stroke:var(--hatch)}.u1{fill:var(--u1)}.u2{fill:var(--u2)}"
    ".u3{fill:var(--u3)}.u4{fill:var(--u4)}.u5{fill:var(--u5)}.over{fill:var(--over)}"
    "svg .on0,svg .on1,svg .on2,svg .on3{fill:var(--onlight)}svg .on4,svg .on5,svg .on6{"
    "fill:var(--ondark)}.hatch{stroke:var(--hatch);stroke-width:1.5}"
    ".down{fill:none;stroke:var(--bad);stroke-width:2;stroke-dasharray:4 3}"
    "svg .downword{fill:var(--bad);font-weight:600}\n",
    "details{margin-top:12px;background:var(--card);border:1px solid var(--line);"
    "border-radius:10px;padding:10px 15px}summary{cursor:pointer;font-weight:600}"
    ".card details{border:0;padding:0;background:none}"
    "pre{overflow-x:auto;margin:8px 0 0;font:12.5px/1.45 ui-monospace,SFMono-Regular,Menlo,"
    "\"DejaVu Sans Mono\",monospace}code{font-family:ui-monospace,SFMono-Regular,Menlo,"
    "\"DejaVu Sans Mono\",monospace;font-size:13px;overflow-wrap:anywhere}"
    "dl.commands{margin:8px 0 0}dl.commands dt{margin-top:8px}dl.commands dd{margin:0;"
    "color:var(--soft);font-size:14px}"
    "footer{margin-top:40px;color:var(--soft);font-size:13px;border-top:1px solid var(--line);"
    "padding-top:10px}"
    "@media(max-width:520px){main{padding:18px 14px 36px}h1{font-size:25px}.lead{font-size:16px}"
    "svg.chart text{font-size:15px}svg.chart .lanename{font-size:13px}"
    "svg.chart .names text{font-size:14px}figure,.card{padding:11px 11px 9px}"
    ".tiles{grid-template-columns:repeat(2,minmax(0,1fr))}.tile b{font-size:20px}"
    ".bars{grid-template-columns:minmax(70px,max-content) 1fr minmax(54px,max-content);"
    "gap:7px 9px;font-size:14px}}"
    "@media print{body{background:#fff;font-size:11pt}main{max-width:none;padding:0}"
    "figure,.card,.tile,details{break-inside:avoid;border-color:#bbb}"
    "svg,.bar{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    ".figures{grid-template-columns:1fr 1fr}.scroll{overflow:visible}}\n",
};

void run_page_open(struct text *out, const char *kind, const char *title)
{
    text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                  "<meta name=\"generator\" content=\"strait " STRAIT_VERSION "\">\n<title>");
    run_svg_escape(out, title);
    text_add(out, ": ");
    run_svg_escape(out, kind);
    text_add(out, "</title>\n<style>\n");
    for (size_t i = 0; i < sizeof(page_style) / sizeof(page_style[0]); i++) {
        text_add(out, page_style[i]);
    }
    text_add(out, "</style>\n</head>\n<body>\n<main>\n<div class=\"kind\">Strait &middot; ");
    run_svg_escape(out, kind);
    text_add(out, "</div>\n<h1>");
    run_svg_escape(out, title);
    text_add(out, "</h1>\n");
}

void run_page_close(struct text *out)
{
    text_add(out, "</main>\n</body>\n</html>\n");
}

void run_page_tile(struct text *out, const char *name, const char *value, const char *more)
{
    text_add(out, "<div class=\"tile\"><span>");
    run_svg_escape(out, name);
    text_add(out, "</span><b>");
    run_svg_escape(out, value);
    text_add(out, "</b><span>");
    run_svg_escape(out, more);
    text_add(out, "</span></div>\n");
}

void run_page_command(struct text *out, const char *line, const char *what)
{
    text_add(out, "<dt><code>");
    run_svg_escape(out, line);
    text_add(out, "</code></dt><dd>");
    run_svg_escape(out, what);
    text_add(out, "</dd>\n");
}

void run_page_legend(struct text *out, const char *const *names, const uint32_t *styles,
                     uint32_t count)
{
    text_add(out, "<ul class=\"legend\">");
    for (uint32_t i = 0; i < count; i++) {
        text_addf(out,
                  "<li><svg viewBox=\"0 0 34 12\" aria-hidden=\"true\"><path class=\"line s%u\" "
                  "d=\"M2 6H32\"/></svg>",
                  styles[i] % RUN_SVG_STYLES);
        run_svg_escape(out, names[i]);
        text_add(out, "</li>");
    }
    text_add(out, "</ul>\n");
}

void run_page_keys(struct text *out, const char *const *names, const char *const *styles,
                   uint32_t count)
{
    text_add(out, "<ul class=\"legend\">");
    for (uint32_t i = 0; i < count; i++) {
        text_addf(out,
                  "<li><svg class=\"key\" viewBox=\"0 0 13 13\" aria-hidden=\"true\"><rect "
                  "class=\"%s\" width=\"13\" height=\"13\" rx=\"2\"/></svg>",
                  styles[i]);
        run_svg_escape(out, names[i]);
        text_add(out, "</li>");
    }
    text_add(out, "</ul>\n");
}

void run_page_usd(struct text *out, double usd)
{
    int decimals = usd > 0 && usd < 1 ? (int)ceil(-log10(usd)) + 1 : 2;

    if (!isfinite(usd)) {
        text_add(out, "no price");
    } else if (usd == 0) {
        text_add(out, "$0");
    } else {
        text_addf(out, "$%.*f", decimals > 9 ? 9 : decimals, usd);
    }
}

void run_page_percent(struct text *out, double part)
{
    if (part > 0 && part < 0.0005) {
        text_add(out, "< 0.1 %");
    } else if (isfinite(part)) {
        text_addf(out, part != 0 && fabs(part) < 0.0995 ? "%.1f %%" : "%.0f %%", part * 100);
    } else {
        text_add(out, "-");
    }
}
