#include <fmt/format.h>

#include "reports/html/markup.hpp"
#include "reports/html/svg.hpp"

namespace acid {
namespace {

// Strokes inside scale(.1) are in tenths of a unit. @NAME@: with_looks().
constexpr std::string_view kStyleSheet = R"css(
:root,.for-paper{color-scheme:light dark;--ink:@ink@;--soft:@soft@;--rule:@rule@;--paper:@paper@;
--wash:#f6f6f4;--warn:#8a4b00;--shade:#0004;--page:66rem}
@media (prefers-color-scheme:dark){:root{--ink:@dark-ink@;--soft:@dark-soft@;--rule:@dark-rule@;
--paper:@dark-paper@;--wash:#1f1f1e;--warn:#f0b060;--shade:#fff5}}
*{box-sizing:border-box}
html{background:var(--paper);color:var(--ink);-webkit-text-size-adjust:100%}
body{max-width:var(--page);margin:0 auto;padding:2.5rem 1.25rem 4rem;
font:1.0625rem/1.55 Charter,"Bitstream Charter","Iowan Old Style","Palatino Linotype",Palatino,
"Source Serif 4",Georgia,"DejaVu Serif",serif}
svg,table,figcaption,.tabs,.legend,nav,.note,summary,.facts{
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
h1{font-size:2rem;line-height:1.2;font-weight:600;margin:0 0 .35rem;letter-spacing:-.01em;
overflow-wrap:anywhere}
h2{font-size:1.35rem;font-weight:600;margin:3rem 0 .75rem;padding-top:.9rem;
border-top:1px solid var(--rule)}
h3{font-size:1.08rem;font-weight:600;margin:2rem 0 .5rem;overflow-wrap:anywhere}
p{margin:.5rem 0;max-width:44rem;overflow-wrap:anywhere}
ul{padding-left:1.2rem;margin:.5rem 0;max-width:46rem}
li{margin:.3rem 0;overflow-wrap:anywhere}
a{color:inherit;text-underline-offset:.18em;text-decoration-color:var(--soft)}
.lede{color:var(--soft);font-size:1.02rem;margin-bottom:.9rem}
nav{font-size:.85rem;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:1rem 0 0}
code,pre{font:.84em/1.5 ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{overflow-wrap:anywhere}
table code{overflow-wrap:normal;white-space:nowrap}
thead .n{white-space:normal}tbody th{white-space:nowrap}
pre{background:var(--wash);padding:.8rem 1rem;overflow-x:auto;border-radius:3px;margin:.6rem 0}
.scroll{overflow-x:auto;margin:.8rem 0;max-width:100%}
/* A shade at the side where there is more: its cover scrolls away with what is in the box. */
@media screen{.scroll{background:linear-gradient(90deg,var(--paper) 40%,transparent) 0 0 local,
linear-gradient(270deg,var(--paper) 40%,transparent) 100% 0 local,
linear-gradient(90deg,var(--shade),transparent) 0 0,
linear-gradient(270deg,var(--shade),transparent) 100% 0;
background-size:3rem 100%,3rem 100%,1rem 100%,1rem 100%;background-repeat:no-repeat}
section>.scroll,section>details>.scroll{--beside:max(0px,(100vw - var(--page))/2);max-width:none;
margin-right:calc(-1*var(--beside))}}
table{border-collapse:collapse;font-size:.82rem;line-height:1.4;
font-variant-numeric:tabular-nums lining-nums;border-top:1.5px solid var(--ink);
border-bottom:1.5px solid var(--ink)}
th,td{padding:.28rem .9rem .28rem 0;text-align:left;vertical-align:baseline;font-weight:400}
th:last-child,td:last-child{padding-right:.2rem}
thead th{border-bottom:1px solid var(--ink);font-weight:600;vertical-align:bottom}
tbody tr+tr>*{border-top:1px solid var(--rule)}
td{max-width:36rem;overflow-wrap:break-word}
tbody th{max-width:22rem;overflow:hidden;text-overflow:ellipsis}
.n{text-align:right;white-space:nowrap}.n small{white-space:normal}
td small{color:var(--soft);font-size:.92em}
.warnings{border-left:3px solid var(--warn);padding:.1rem 0 .1rem 1rem;margin:1rem 0}
.warnings li{list-style:none;margin-left:-1.2rem}
details{margin:.4rem 0}
summary{cursor:pointer;color:var(--soft);font-size:.85rem;width:fit-content}
:focus-visible{outline:2px solid var(--k1);outline-offset:2px}
figure{margin:0;min-width:0}
figcaption{font-size:.88rem;font-weight:600;margin:0 0 .25rem;overflow-wrap:anywhere}
figcaption small{font-weight:400}
.note{font-size:.8rem;color:var(--soft);margin:.25rem 0}
.note+.scroll{margin-top:.4rem}
.panel,.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));
gap:1.6rem 2rem}
.panel{display:none;margin-top:.9rem}
.pick{position:absolute;opacity:0;pointer-events:none}
.pick0:checked~.panels .panel0,.pick1:checked~.panels .panel1,.pick2:checked~.panels .panel2,
.pick3:checked~.panels .panel3,.pick4:checked~.panels .panel4{display:grid}
.tabs{display:flex;flex-wrap:wrap;align-items:baseline;gap:.25rem .35rem;font-size:.85rem;
margin-top:.7rem}
.tabs span{color:var(--soft);margin-right:.3rem}
.tabs label{padding:.15rem .6rem;border:1px solid var(--rule);border-radius:1rem;cursor:pointer}
.pick0:checked~.tabs .tab0,.pick1:checked~.tabs .tab1,.pick2:checked~.tabs .tab2,
.pick3:checked~.tabs .tab3,.pick4:checked~.tabs .tab4{
background:var(--ink);color:var(--paper);border-color:var(--ink)}
.pick0:focus-visible~.tabs .tab0,.pick1:focus-visible~.tabs .tab1,
.pick2:focus-visible~.tabs .tab2,.pick3:focus-visible~.tabs .tab3,
.pick4:focus-visible~.tabs .tab4{outline:2px solid var(--k1);outline-offset:2px}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.3rem;font-size:.85rem;margin:.6rem 0}
.swatch{width:1.9rem;height:.6rem;vertical-align:middle;margin-right:.45rem}
.for-paper{position:absolute;visibility:hidden;width:0;height:0;overflow:hidden}
svg{display:block;width:100%;height:auto;overflow:visible}
svg.swatch{display:inline-block;width:1.9rem;height:.6rem}
svg text{@text@}
svg.line{max-width:31rem}
svg .label{@label@}
.grid{@grid@}
.axis{@axis@}
.mean{@mean@}
.seed{@seed@}
.band{@band@}
.cut{@cut@}
.reference{@reference@}
details.more{grid-column:1/-1}
details.more[open]{display:grid;gap:1.6rem 2rem;
grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr))}
details.more>summary{grid-column:1/-1}
.lead{@lead@}
.smalls{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,15rem),1fr));
gap:1.6rem 2rem;margin:1rem 0}
.small svg{max-width:19rem}.small svg.heat,.small svg.graph{max-width:15.5rem}
.edge{@edge@}
.node{@node@}
svg .node-name{@node-name@}
.bar{@bar@}.hollow{@hollow@}
.headline{font-size:1.12rem;margin:.4rem 0 .7rem;max-width:none}
.forests{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));
gap:1.6rem 2rem;margin:.6rem 0 1.4rem;align-items:start}
svg.overview{min-width:44rem;max-width:none;overflow:hidden}
svg.overview.wide{min-width:58rem}
svg.overview .figures{font-size:10px}
.overview .row{cursor:pointer;text-decoration:none}.overview .hit{fill:transparent}
.overview .row:hover .hit,.overview .row:focus .hit,.overview .chosen .hit{fill:var(--wash)}
.mark{@mark@}.whisker{@whisker@}
.zero{@zero@}
svg .heading{@heading@}svg .figures{@figures@}
.timelines{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));
gap:1.6rem 2rem;margin:1rem 0}
.span-compute{@span-compute@}
.span-wait{@span-wait@}.span-exchange{@span-exchange@}
.mark-word{white-space:nowrap}.prose td:last-child{min-width:16rem;max-width:40rem}
.h0{@h0@}.h1{@h1@}.h2{@h2@}.h3{@h3@}.h4{@h4@}
.h5{@h5@}.h6{@h6@}.h7{@h7@}.h8{@h8@}
svg .name{@name@}
dl.facts{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.25rem 1.2rem;
font-size:.85rem;margin:.6rem 0}
dl.facts dt{color:var(--soft)}dl.facts dd{margin:0;overflow-wrap:anywhere}
footer{margin-top:3rem;padding-top:.8rem;border-top:1px solid var(--rule);color:var(--soft);
font-size:.88rem}
@media (max-width:30rem){body{padding:1.25rem .9rem 3rem;font-size:1rem}h1{font-size:1.55rem}
dl.facts{grid-template-columns:minmax(0,1fr);gap:0}dl.facts dd{margin-bottom:.5rem}
main svg text,main svg .label{font-size:12px}main svg .node-name{font-size:8.5px}
main .forest text,main .forest .label{font-size:10.5px}}
@media screen and (min-width:120rem){:root{font-size:115%;--page:80rem}}
@media screen and (min-width:200rem){:root{font-size:165%}}
@media print{:root{--ink:#000;--soft:#444;--rule:#ccc;--paper:#fff;--wash:#f6f6f4}@page{margin:16mm}
body{max-width:none;padding:0;font-size:10pt}nav,.tabs{display:none}h2,h3{break-after:avoid}
figure,tr,.warnings{break-inside:avoid}.scroll{overflow:visible}pre{white-space:pre-wrap}
.panel{grid-template-columns:1fr 1fr;padding-right:1rem}figure details{display:none}
.scroll:not(:has(th:nth-child(9))) :is(td,th){white-space:normal;overflow-wrap:anywhere}
.scroll:has(th:nth-child(9)) table{font-size:6.4pt}
.scroll:has(th:nth-child(9)) :is(td,th){padding:.2em .35em;overflow-wrap:normal}
.scroll:has(th:nth-child(16)) :is(td,th){white-space:normal}
td .swatch,th .swatch{width:3em;height:1em}
.scroll:has(th:nth-child(12)) table{font-size:5.6pt}
.scroll:has(th:nth-child(14)) table{font-size:5pt}
.scroll:has(th:nth-child(20)) table{font-size:4pt}
.scroll:has(th:nth-child(24)) table{font-size:3.4pt}
.scroll:has(th:nth-child(29)) table{font-size:2.9pt}
.scroll:has(th:nth-child(35)) table{font-size:2.4pt}
.prose td:last-child{min-width:0}table code{white-space:normal;overflow-wrap:anywhere}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)css";

}  // namespace

std::string_view style_sheet() {
  static const std::string sheet = fmt::format(
      ":root,.for-paper{{{0}}}\n@media (prefers-color-scheme:dark){{:root{{{1}}}}}\n"
      "@media print{{:root{{{0}}}}}\n{2}{3}",
      colour_rules(kLightColours), colour_rules(kDarkColours), style_rules(),
      with_looks(std::string(kStyleSheet)));
  return sheet;
}

std::string swatch(int style) {
  Shapes shapes;
  shapes.path("mean", "M0 45h300", style);
  shapes.marker(style, 150, 45, 42);
  return fmt::format(
      "<svg class=\"swatch s{}\" viewBox=\"0 0 300 90\" aria-hidden=\"true\">{}</svg>", style,
      svg(shapes));
}

}  // namespace acid
