// Reads the drawings that reports/html makes: SVG of few elements, in a form of our own.
#include "reports/figure/figure.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <tuple>

#include "engine/base/error.hpp"
#include "reports/html/looks.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/style.hpp"

namespace acid {
namespace {

using Attributes = std::map<std::string, std::string>;

double number_of(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

Attributes attributes_of(std::string_view tag) {
  Attributes result;
  for (std::size_t at = 0; (at = tag.find("=\"", at)) != std::string_view::npos;) {
    const std::size_t name = tag.rfind(' ', at) + 1, end = tag.find('"', at + 2);
    result[std::string(tag.substr(name, at - name))] = tag.substr(at + 2, end - at - 2);
    at = end;
  }
  return result;
}

/// The declarations of the first rule of the style sheet whose last selector is this one, alone or
/// within any svg.
std::string_view rule_of(std::string_view selector) {
  const std::string_view sheet = style_sheet();
  const std::string wanted = std::string(selector) + "{";
  for (std::size_t at = 0; (at = sheet.find(wanted, at)) != std::string_view::npos; ++at) {
    std::string_view before = sheet.substr(0, at);
    if (before.ends_with("svg ")) before.remove_suffix(4);
    if (!before.empty() && before.back() != '}' && before.back() != '\n') continue;
    const std::size_t begin = at + wanted.size();
    return sheet.substr(begin, sheet.find('}', begin) - begin);
  }
  return {};
}

std::string declared(std::string_view rule, std::string_view property) {
  const std::string wanted = std::string(property) + ":";
  for (std::size_t at = 0; (at = rule.find(wanted, at)) != std::string_view::npos; ++at)
    if (at == 0 || rule[at - 1] == ';') {
      const std::size_t begin = at + wanted.size();
      return std::string(rule.substr(begin, rule.find(';', begin) - begin));
    }
  return {};
}

/// var(--c) is the colour of a style; others are those of light paper.
std::string colour_value(const std::string& value, int style) {
  if (value == "var(--c)")
    return std::string(kLightColours[static_cast<std::size_t>(colour_of(style))]);
  if (value == "transparent") return "none";
  if (!value.starts_with("var(")) return value;
  static const std::string_view light =
      style_sheet().substr(style_sheet().find("color-scheme:light dark"));
  return declared(light.substr(0, light.find('}')), value.substr(4, value.size() - 5));
}

void apply(Look& look, std::string_view rule, int style) {
  const auto set = [&](const char* property, auto& member) {
    if (const std::string value = declared(rule, property); !value.empty()) {
      if constexpr (std::is_same_v<std::decay_t<decltype(member)>, double>)
        member = number_of(value);
      else
        member = value;
    }
  };
  if (const std::string value = declared(rule, "fill"); !value.empty())
    look.fill = colour_value(value, style);
  if (const std::string value = declared(rule, "stroke"); !value.empty())
    look.stroke = colour_value(value, style);
  set("stroke-width", look.width);
  set("stroke-dasharray", look.dash);
  set("opacity", look.opacity);
  set("font-size", look.size);
}

/// What elements inherit: place, style, and whether they are drawn at all.
struct Level {
  std::string tag;
  double scale = 1, dx = 0, dy = 0;
  int style = 0;
};

class DrawingReader {
 public:
  explicit DrawingReader(std::string_view html) {
    const std::size_t begin = html.find("<svg "), end = html.find("</svg>", begin);
    if (begin == std::string_view::npos) throw Error("there is nothing to draw");
    drawing_ = html.substr(begin, end - begin);
  }

  Figure read() {
    for (std::size_t at = 0; at < drawing_.size();) {
      const std::size_t open = drawing_.find('<', at), close = drawing_.find('>', open);
      if (open == std::string_view::npos) break;
      const std::string_view tag = drawing_.substr(open + 1, close - open - 1);
      const std::size_t next = drawing_.find('<', close);
      const std::string words =
          unescaped(std::string(drawing_.substr(close + 1, next - close - 1)));
      at = close + 1;
      if (tag.starts_with('/')) {
        levels_.pop_back();
        continue;
      }
      element(tag, words);
    }
    return std::move(figure_);
  }

 private:
  void element(std::string_view tag, const std::string& words) {
    const Attributes attributes = attributes_of(tag);
    Level level = levels_.empty() ? Level{} : levels_.back();
    level.tag = tag.substr(0, tag.find_first_of(" /"));
    const auto value = [&](const char* name) {
      const auto found = attributes.find(name);
      return found == attributes.end() ? std::string() : found->second;
    };
    place(level, value("transform"));
    FigureItem item;
    if (level.tag == "text") apply(item.look, rule_of("svg text"), 0);
    const std::string classes = value("class");
    for (std::size_t at = 0; at < classes.size();) {
      const std::size_t end = std::min(classes.find(' ', at), classes.size());
      const std::string name = classes.substr(at, end - at);
      if (name.size() > 1 && name[0] == 's' && name[1] >= '0' && name[1] <= '9')
        level.style = std::atoi(name.c_str() + 1);
      at = end + 1;
    }
    for (std::size_t at = 0; at < classes.size();) {
      const std::size_t end = std::min(classes.find(' ', at), classes.size());
      apply(item.look, rule_of("." + classes.substr(at, end - at)), level.style);
      at = end + 1;
    }
    if (classes.starts_with("mean"))
      item.look.dash = kDashes[static_cast<std::size_t>(shape_of(level.style))];
    std::tie(item.scale, item.dx, item.dy) = std::tie(level.scale, level.dx, level.dy);
    if (level.tag == "svg") {
      const std::string box = value("viewBox");
      char* rest = nullptr;
      figure_.width = std::strtod(box.c_str() + 4, &rest);
      figure_.height = std::strtod(rest, nullptr);
    } else if (level.tag == "title" && levels_.size() == 1) {
      figure_.title = words;
    } else if (level.tag == "path" || level.tag == "rect" || level.tag == "circle") {
      item.path = outline(level.tag, value);
      if (!item.path.empty()) figure_.items.push_back(item);
    } else if (level.tag == "text") {
      item.text = words;
      item.anchor = value("text-anchor");
      item.x = number_of(value("x"));
      item.y = number_of(value("y"));
      figure_.items.push_back(item);
    }
    if (!tag.ends_with('/')) levels_.push_back(level);
  }

  template <class Value>
  static std::string outline(std::string_view tag, const Value& value) {
    if (tag == "path") return value("d");
    if (tag == "rect")
      return fmt::format("M{} {}h{}v{}h-{}z", number_of(value("x")), number_of(value("y")),
                         value("width"), value("height"), value("width"));
    const double r = number_of(value("r"));
    return fmt::format("M{} {}a{} {} 0 1 0 {} 0a{} {} 0 1 0 {} 0z", number_of(value("cx")) - r,
                       value("cy"), r, r, 2 * r, r, r, -2 * r);
  }

  /// translate(x y) and scale(s), in this order where both are.
  static void place(Level& level, const std::string& transform) {
    if (const std::size_t at = transform.find("translate("); at != std::string::npos) {
      char* rest = nullptr;
      const double x = std::strtod(transform.c_str() + at + 10, &rest);
      level.dx += level.scale * x;
      level.dy += level.scale * std::strtod(rest, nullptr);
    }
    if (const std::size_t at = transform.find("scale("); at != std::string::npos)
      level.scale *= std::strtod(transform.c_str() + at + 6, nullptr);
  }

  std::string_view drawing_;
  std::vector<Level> levels_;
  Figure figure_;
};

}  // namespace

Figure figure_of(std::string_view html) { return DrawingReader(html).read(); }

Figure with_title(Figure figure) {
  constexpr double kRoom = 17, kLine = 10;
  for (FigureItem& item : figure.items) item.dy += kRoom;
  figure.height += kRoom;
  FigureItem title;
  apply(title.look, rule_of("svg text"), 0);
  apply(title.look, rule_of(".heading"), 0);
  title.text = figure.title;
  title.anchor = "start";
  title.y = kLine;
  figure.items.push_back(std::move(title));
  return figure;
}

}  // namespace acid
