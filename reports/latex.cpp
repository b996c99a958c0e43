#include "reports/latex.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "reports/numbers.hpp"

namespace acid {
namespace {

using Replacement = std::pair<std::string_view, std::string_view>;
// "[" and "*" at the start of a row would be taken for an option of the row's end before it.
constexpr std::array kReplacements{Replacement{"±", "$\\pm$"},
                                   Replacement{"µ", "$\\mu$"},
                                   Replacement{"²", "$^2$"},
                                   Replacement{"·", "$\\cdot$"},
                                   Replacement{"–", "--"},
                                   Replacement{"−", "$-$"},
                                   Replacement{"≤", "$\\leq$"},
                                   Replacement{"×", "$\\times$"},
                                   Replacement{"--", "-{}-"},
                                   Replacement{"\\", "\\textbackslash{}"},
                                   Replacement{"~", "\\textasciitilde{}"},
                                   Replacement{"^", "\\textasciicircum{}"},
                                   Replacement{"<", "$<$"},
                                   Replacement{">", "$>$"},
                                   Replacement{"|", "$|$"},
                                   Replacement{"[", "{[}"},
                                   Replacement{"`", "\\textasciigrave{}"},
                                   Replacement{"''", "'{}'"},
                                   Replacement{"*", "{*}"},
                                   Replacement{"\n", " "},
                                   Replacement{"\r", " "}};

/// "from to from to": words with a blank between.
std::vector<Replacement> pairs_of(std::string_view words) {
  std::vector<Replacement> pairs;
  const auto next = [&] {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    return word;
  };
  while (!words.empty()) {
    const std::string_view from = next();
    pairs.emplace_back(from, next());
  }
  return pairs;
}

// Commands of mathematics, what is above or below the line in it, letters that are Latin ones to
// LaTeX, and marks over the letter before them.
const std::vector<Replacement> kSymbols = pairs_of(
    "α \\alpha β \\beta γ \\gamma δ \\delta ε \\varepsilon ϵ \\epsilon ζ \\zeta η \\eta "
    "θ \\theta ϑ \\vartheta ι \\iota κ \\kappa λ \\lambda μ \\mu ν \\nu ξ \\xi π \\pi ρ \\rho "
    "σ \\sigma ς \\varsigma τ \\tau υ \\upsilon φ \\varphi ϕ \\phi χ \\chi ψ \\psi ω \\omega "
    "Γ \\Gamma Δ \\Delta Θ \\Theta Λ \\Lambda Ξ \\Xi Π \\Pi Σ \\Sigma Υ \\Upsilon Φ \\Phi "
    "Ψ \\Psi Ω \\Omega "
    "≥ \\geq ≈ \\approx ≠ \\neq ≡ \\equiv ∼ \\sim ∝ \\propto ∞ \\infty "
    "→ \\rightarrow ← \\leftarrow ↔ \\leftrightarrow ↑ \\uparrow ↓ \\downarrow ⇒ \\Rightarrow "
    "⇔ \\Leftrightarrow "
    "∈ \\in ∑ \\sum ∏ \\prod ∫ \\int √ \\surd ∂ \\partial ∇ \\nabla ∀ \\forall ∃ \\exists "
    "∅ \\emptyset ∪ \\cup ∩ \\cap ⊂ \\subset ⋅ \\cdot ∙ \\cdot • \\bullet "
    "… \\ldots ‖ \\| ′ \\prime ÷ \\div ¬ \\neg † \\dagger ‡ \\ddagger ℓ \\ell ✓ \\surd "
    "✗ \\times ▸ \\triangleright ◂ \\triangleleft");
const std::vector<Replacement> kAbove =
    pairs_of("⁰ 0 ¹ 1 ³ 3 ⁴ 4 ⁵ 5 ⁶ 6 ⁷ 7 ⁸ 8 ⁹ 9 ⁺ + ⁻ - ⁼ = ⁽ ( ⁾ ) ⁿ n ⁱ i ᵀ T ° \\circ");
const std::vector<Replacement> kBelow = pairs_of(
    "₀ 0 ₁ 1 ₂ 2 ₃ 3 ₄ 4 ₅ 5 ₆ 6 ₇ 7 ₈ 8 ₉ 9 ₊ + ₋ - ₌ = ₍ ( ₎ ) "
    "ᵢ i ⱼ j ₐ a ₑ e ₕ h ₖ k ₗ l ₘ m ₙ n ₒ o ₚ p ᵣ r ₛ s ₜ t ᵤ u ᵥ v ₓ x");
const std::vector<Replacement> kLatin =
    pairs_of("Α A Β B Ε E Ζ Z Η H Ι I Κ K Μ M Ν N Ο O Ρ P Τ T Χ X ο o");
constexpr auto kMarks = std::to_array<Replacement>(
    {{"\u0304", "bar"}, {"\u0303", "tilde"}, {"\u0302", "hat"}, {"\u0307", "dot"}});

/// Removes `start` from the beginning of the text, if it is there.
bool take_start(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

/// Takes what the text begins with, if it is known, and returns it as LaTeX; else nothing.
std::string take_known(std::string_view& text) {
  std::string latex;
  const auto take = [&](const auto& table, std::string_view before, std::string_view after) {
    for (const auto& [from, to] : table)
      if (latex.empty() && take_start(text, from)) latex = fmt::format("{}{}{}", before, to, after);
  };
  take(kReplacements, "", "");
  take(kSymbols, "$", "$");
  take(kAbove, "$^", "$");
  take(kBelow, "$_", "$");
  take(kLatin, "", "");
  return latex;
}

/// Sets the marks that the text begins with, and takes them, over a letter.
std::string with_marks(std::string letter, std::string_view& text) {
  const bool in_mathematics = letter.front() == '$';
  if (!in_mathematics && std::isalpha(static_cast<unsigned char>(letter.front())) == 0)
    return letter;
  for (const auto& [mark, name] : kMarks)
    if (take_start(text, mark))
      return fmt::format("$\\{}{{{}}}$", name,
                         in_mathematics ? letter.substr(1, letter.size() - 2) : letter);
  return letter;
}

}  // namespace

std::string latex_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::string latex = take_known(text);
    if (latex.empty()) {
      if (std::string_view("&%$#_{}").find(text.front()) != std::string_view::npos) latex = "\\";
      latex += text.front();
      text.remove_prefix(1);
    }
    result += with_marks(std::move(latex), text);
  }
  return result;
}

std::string latex_comment(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return "% " + text + "\n";
}

std::string latex_notes(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences)
    text += fmt::format("{}{}.", text.empty() ? "" : "\n", latex_text(sentence));
  return text.empty() ? "" : latex_paragraph(text);
}

std::string latex_paragraph(std::string_view words) {
  return fmt::format(
      "\\par\\smallskip\\noindent\n\\begin{{minipage}}{{\\linewidth}}\n\\footnotesize\n{}\n"
      "\\end{{minipage}}\n",
      words);
}

std::string latex_number(std::string_view formatted) {
  const auto is_digit = [&](std::size_t at) {
    return at < formatted.size() && std::isdigit(static_cast<unsigned char>(formatted[at])) != 0;
  };
  for (std::size_t at = 1; at + 1 < formatted.size(); ++at) {
    const bool after = is_digit(at - 1) || formatted[at - 1] == ')';
    const bool is_signed = formatted[at + 1] == '-' || formatted[at + 1] == '+';
    std::size_t end = at + (is_signed ? 2 : 1);
    if (formatted[at] != 'e' || !after || !is_digit(end)) continue;
    while (is_digit(end)) ++end;
    return latex_text(with_minus(formatted.substr(0, at))) +
           fmt::format("$\\times 10^{{{}}}$",
                       std::stoi(std::string(formatted.substr(at + 1, end - at - 1)))) +
           latex_number(formatted.substr(end));
  }
  return latex_text(with_minus(formatted));
}

std::string readable_name(std::string_view name) {
  std::string result;
  if (take_start(name, "auc_")) result = "mean height of ";
  if (take_start(name, "eval_")) result += "test ";
  if (take_start(name, "train_")) result += "training ";
  result += name;
  for (char& c : result)
    if (c == '_') c = ' ';
  constexpr std::string_view kMid = " mid";
  if (result.ends_with(kMid)) result.replace(result.size() - kMid.size(), kMid.size(), ", mid-run");
  if (!result.empty())
    result.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(result.front())));
  return result;
}

}  // namespace acid
