// PDF 1.7 (ISO 32000-1): one page, and one font that holds its glyphs by number (9.7).
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "engine/base/error.hpp"
#include "engine/base/utf8.hpp"
#include "reports/figure/figure.hpp"
#include "reports/html/font.hpp"

namespace acid {
namespace {

constexpr double kPointsPerMillimetre = 72 / 25.4;
constexpr double kRoundness = 0.5522847498;  // of a quarter circle's control points

std::string colour_operands(std::string_view hex) {
  const auto part = [&](std::size_t k, std::size_t digits) {
    const std::string text(hex.substr(1 + k * digits, digits));
    const long value = std::strtol((digits == 1 ? text + text : text).c_str(), nullptr, 16);
    return static_cast<double>(value) / 255;
  };
  const std::size_t digits = hex.size() == 4 ? 1 : 2;
  return fmt::format("{:.4g} {:.4g} {:.4g}", part(0, digits), part(1, digits), part(2, digits));
}

/// SVG path data, with the commands that drawings use, as the operators of a page.
class PathWriter {
 public:
  explicit PathWriter(const std::string& data) : at_(data.c_str()) {}

  std::string write() {
    while (skip(), *at_ != '\0') {
      if (std::isalpha(static_cast<unsigned char>(*at_))) command_ = *at_++;
      step();
    }
    return std::move(out_);
  }

 private:
  void skip() {
    while (*at_ == ' ' || *at_ == ',') ++at_;
  }
  double number() {
    char* end = nullptr;
    const double value = std::strtod(at_, &end);
    ACID_ASSERT(end != at_, "path data at '{}'", at_);
    at_ = end;
    return value;
  }
  void line_to(double x, double y, const char* how) {
    x_ = x;
    y_ = y;
    out_ += fmt::format("{:.6g} {:.6g} {}\n", x, y, how);
  }
  /// Half a circle to a point on the same level, clockwise to the right and back.
  void half_circle(double dx) {
    const double r = dx / 2, k = kRoundness * r, middle = x_ + r, top = y_ - r;
    out_ += fmt::format("{:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} c\n", x_, y_ - k, middle - k,
                        top, middle, top);
    out_ += fmt::format("{:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} c\n", middle + k, top, x_ + dx,
                        y_ - k, x_ + dx, y_);
    x_ += dx;
  }
  void step() {
    const bool relative = command_ >= 'a';
    const double from_x = relative ? x_ : 0, from_y = relative ? y_ : 0;
    switch (command_ | 0x20) {
      case 'm':
      case 'l': {
        const double x = from_x + number(), y = from_y + number();
        const bool moves = (command_ | 0x20) == 'm';
        line_to(x, y, moves ? "m" : "l");
        if (moves) {
          begin_x_ = x;
          begin_y_ = y;
          command_ = relative ? 'l' : 'L';
        }
        return;
      }
      case 'h':
        return line_to(from_x + number(), y_, "l");
      case 'v':
        return line_to(x_, from_y + number(), "l");
      case 'a': {
        for (int k = 0; k < 5; ++k) number();
        const double dx = number();
        number();
        return half_circle(dx);
      }
      case 'z':
        out_ += "h\n";
        x_ = begin_x_;
        y_ = begin_y_;
        return;
      default:
        ACID_ASSERT(false, "path command '{}'", command_);
    }
  }

  const char* at_;
  std::string out_;
  char command_ = 'M';
  double x_ = 0, y_ = 0, begin_x_ = 0, begin_y_ = 0;
};

FigureFont::Glyph glyph(char32_t c) {
  const auto found = figure_font().glyphs.find(c);
  return found == figure_font().glyphs.end() ? figure_font().missing : found->second;
}

std::string text_operators(const FigureItem& item) {
  std::string glyphs;
  for (const char32_t c : code_points(item.text)) glyphs += fmt::format("{:04X}", glyph(c).id);
  const double width = text_width(item.text, item.look.size);
  const double shift = item.anchor == "end" ? width : item.anchor == "middle" ? width / 2 : 0;
  return fmt::format("BT /F1 {:.4g} Tf 1 0 0 -1 {:.6g} {:.6g} Tm <{}> Tj ET\n", item.look.size,
                     item.x - shift, item.y, glyphs);
}

/// Graphics states by opacity: /G30 is 0.30.
int opacity_percent(double opacity) { return static_cast<int>(std::lround(opacity * 100)); }

std::string content_of(const Figure& figure, double points) {
  const double unit = points / figure.width;
  std::string out =
      fmt::format("{:.6g} 0 0 {:.6g} 0 {:.6g} cm 1 j\n", unit, -unit, unit * figure.height);
  for (const FigureItem& item : figure.items) {
    const Look& look = item.look;
    const bool fills = look.fill != "none", strokes = look.stroke != "none";
    if (!fills && !strokes) continue;
    out += fmt::format("q {:.6g} 0 0 {:.6g} {:.6g} {:.6g} cm /G{} gs\n", item.scale, item.scale,
                       item.dx, item.dy, opacity_percent(look.opacity));
    if (fills) out += colour_operands(look.fill) + " rg\n";
    if (strokes)
      out += fmt::format("{} RG {:.4g} w [{}] 0 d\n", colour_operands(look.stroke), look.width,
                         look.dash);
    if (item.path.empty())
      out += text_operators(item);
    else
      out += PathWriter(item.path).write() + (fills && strokes ? "B\n" : fills ? "f\n" : "S\n");
    out += "Q\n";
  }
  return out;
}

/// The characters of glyphs, so that text can be searched and copied.
std::string unicode_map(const std::set<char32_t>& characters) {
  std::string out =
      "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
      "/CMapName /acid def /CMapType 2 def\n1 begincodespacerange <0000> <FFFF> "
      "endcodespacerange\n";
  for (const char32_t c : characters)
    out += fmt::format("1 beginbfchar <{:04X}> <{:04X}> endbfchar\n", glyph(c).id,
                       static_cast<unsigned>(c));
  return out + "endcmap end end\n";
}

std::string stream(std::string_view content, std::string_view more = {}) {
  return fmt::format("<< /Length {}{} >>\nstream\n{}\nendstream", content.size(), more, content);
}

std::string font_bytes() {
  const auto file = figure_font().file;
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

}  // namespace

std::string characters_without_form(const Figure& figure) {
  std::set<char32_t> without;
  for (const FigureItem& item : figure.items)
    for (const char32_t c : code_points(item.text))
      if (!figure_font().glyphs.contains(c)) without.insert(c);
  std::string words;
  for (const char32_t c : without)
    words += (words.empty() ? "" : " ") + to_utf8(std::u32string_view(&c, 1));
  return words;
}

std::string figure_pdf(const Figure& figure, double millimetres) {
  const double points = millimetres * kPointsPerMillimetre;
  std::set<char32_t> characters;
  std::set<int> opacities;
  for (const FigureItem& item : figure.items) {
    opacities.insert(opacity_percent(item.look.opacity));
    for (const char32_t c : code_points(item.text))
      characters.insert(figure_font().glyphs.contains(c) ? c : U'?');
  }
  std::string widths, states;
  for (const char32_t c : characters)
    widths += fmt::format(" {} [{}]", glyph(c).id, glyph(c).width);
  for (const int opacity : opacities)
    states += fmt::format(" /G{0} << /ca {1:.2f} /CA {1:.2f} >>", opacity, opacity / 100.0);
  const std::string name = "ACIDFG+DejaVuSansCondensed", font = font_bytes();
  const std::vector<std::string> objects{
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      fmt::format("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {:.4f} {:.4f}] /Contents 4 0 R "
                  "/Resources << /Font << /F1 5 0 R >> /ExtGState <<{} >> >> >>",
                  points, points * figure.height / figure.width, states),
      stream(content_of(figure, points)),
      fmt::format("<< /Type /Font /Subtype /Type0 /BaseFont /{} /Encoding /Identity-H "
                  "/DescendantFonts [6 0 R] /ToUnicode 8 0 R >>",
                  name),
      fmt::format("<< /Type /Font /Subtype /CIDFontType2 /BaseFont /{} /CIDSystemInfo << /Registry "
                  "(Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor 7 0 R "
                  "/CIDToGIDMap /Identity /DW 600 /W [{} ] >>",
                  name, widths),
      fmt::format("<< /Type /FontDescriptor /FontName /{} /Flags 4 /FontBBox [-918 -463 1614 1232] "
                  "/ItalicAngle 0 /Ascent 928 /Descent -236 /CapHeight 729 /StemV 80 "
                  "/FontFile2 9 0 R >>",
                  name),
      stream(unicode_map(characters)),
      stream(font, fmt::format(" /Length1 {}", font.size()))};
  std::string out = "%PDF-1.7\n%\xE2\xE3\xCF\xD3\n", table;
  for (std::size_t k = 0; k < objects.size(); ++k) {
    table += fmt::format("{:010} 00000 n \n", out.size());
    out += fmt::format("{} 0 obj\n{}\nendobj\n", k + 1, objects[k]);
  }
  return out + fmt::format(
                   "xref\n0 {0}\n0000000000 65535 f \n{1}trailer\n<< /Size {0} /Root 1 0 R "
                   ">>\nstartxref\n{2}\n%%EOF\n",
                   objects.size() + 1, table, out.size());
}

}  // namespace acid
