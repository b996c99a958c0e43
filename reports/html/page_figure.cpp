#include "reports/html/page_figure.hpp"

#include <fmt/format.h>

#include "reports/html/markup.hpp"
#include "reports/html/svg.hpp"

namespace acid {

std::string PageFigure::html() const {
  if (empty()) return "";
  std::string drawn = drawing ? svg(*drawing) : "";
  if (scrolls)
    drawn = fmt::format(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{}</div>",
        escaped(drawing->title), drawn);
  return fmt::format("<figure class=\"{}\"{}{}>\n<figcaption>{}</figcaption>\n{}{}{}</figure>\n",
                     css_class, attributes, csv.empty() ? "" : data_values(csv), caption, drawn,
                     drawn.empty() ? "" : "\n", below);
}

}  // namespace acid
