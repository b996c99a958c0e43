#include "cli/figure_file.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "cli/terminal/session.hpp"
#include "engine/base/error.hpp"
#include "reports/figure/figure.hpp"

namespace acid {
namespace {

constexpr double kColumnMillimetres = 84, kTextMillimetres = 174;

double millimetres_of(const std::string& width) {
  if (width == "column") return kColumnMillimetres;
  if (width == "text") return kTextMillimetres;
  char* end = nullptr;
  const double value = std::strtod(width.c_str(), &end);
  if (*end != '\0' || !(value >= 20 && value <= 1000))
    throw UsageError(fmt::format(
        "--width {}: 'column' (84 mm), 'text' (174 mm) or 20 to 1000 millimetres", width));
  return value;
}

void save_file(const std::string& path, const std::string& content) {
  write_file(path, content);
  print_data(path + "\n");
}

}  // namespace

FigureFile::FigureFile(std::string path, const std::string& width, const char* fallback)
    : path_(std::move(path)), millimetres_(millimetres_of(width.empty() ? fallback : width)) {
  const std::string kind = std::filesystem::path(path_).extension().string();
  if (kind != ".svg" && kind != ".pdf")
    throw UsageError(fmt::format("-o {}: the name must end in .svg or .pdf", path_));
  is_svg_ = kind == ".svg";
  const auto beside = [&](const char* ending) {
    return std::filesystem::path(path_).replace_extension(ending);
  };
  numbers_ = beside(".csv").string();
  const auto is_there = [](const std::filesystem::path& file) {
    std::error_code ignored;
    return std::filesystem::exists(file, ignored);
  };
  if (is_there(numbers_) && !is_there(beside(".svg")) && !is_there(beside(".pdf")))
    throw UsageError(fmt::format(
        "-o {}: its numbers would replace {}, which is of no figure there: name another file, or "
        "remove it",
        path_, numbers_));
  for (const std::string& file : {path_, numbers_}) require_can_write(file);
}

void FigureFile::save(const PageFigure& figure, bool titled) const {
  if (!figure.drawing) throw Error("there is nothing to draw");
  Figure drawn = figure_of(*figure.drawing);
  if (titled) drawn = with_title(std::move(drawn));
  save_file(path_, is_svg_ ? figure_svg(drawn, millimetres_) : figure_pdf(drawn, millimetres_));
  save_file(numbers_, figure.csv);
  if (const std::string without = is_svg_ ? std::string() : characters_without_form(drawn);
      !without.empty())
    say(
        fmt::format("warning: the font in {} has no {}: question marks are in their place; a "
                    "figure in SVG has them",
                    path_, without));
}

}  // namespace acid
