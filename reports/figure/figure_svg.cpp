#include <fmt/format.h>

#include "reports/figure/figure.hpp"
#include "reports/html/encoding.hpp"
#include "reports/html/font.hpp"
#include "reports/html/markup.hpp"

namespace acid {
namespace {

std::string paint(const Look& look) {
  std::string out = fmt::format(" fill=\"{}\"", look.fill);
  if (look.stroke != "none")
    out += fmt::format(" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"", look.stroke,
                       look.width);
  if (!look.dash.empty()) out += fmt::format(" stroke-dasharray=\"{}\"", look.dash);
  if (look.opacity < 1) out += fmt::format(" opacity=\"{}\"", look.opacity);
  return out;
}

}  // namespace

std::string figure_svg(const Figure& figure, double millimetres) {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}mm\" height=\"{:.3f}mm\" "
      "viewBox=\"0 0 {} {}\">\n<title>{}</title>\n<style>@font-face{{font-family:acid;"
      "src:url(data:font/ttf;base64,{})}}text{{font-family:acid,'DejaVu Sans Condensed',"
      "sans-serif}}</style>\n",
      millimetres, millimetres * figure.height / figure.width, figure.width, figure.height,
      escaped(figure.title), base64(figure_font().file));
  for (const FigureItem& item : figure.items) {
    if (item.look.fill == "none" && item.look.stroke == "none") continue;
    const bool moved = item.scale != 1 || item.dx != 0 || item.dy != 0;
    const std::string place =
        moved ? fmt::format(" transform=\"translate({:.6g} {:.6g}) scale({:.6g})\"", item.dx,
                            item.dy, item.scale)
              : "";
    if (!item.path.empty())
      out += fmt::format("<path{} d=\"{}\"{}/>\n", paint(item.look), item.path, place);
    else
      out += fmt::format(
          "<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" font-size=\"{}\"{}{}>{}</text>\n", item.x,
          item.y, item.anchor, item.look.size, paint(item.look), place, escaped(item.text));
  }
  return out + "</svg>\n";
}

}  // namespace acid
