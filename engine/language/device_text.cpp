#include "engine/language/device_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/language/interpreter.hpp"

namespace acid {
namespace {

using Kind = Operand::Kind;

constexpr std::string_view kThread = "blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x";
constexpr std::string_view kThreads = "gridDim.x * (unsigned long long)blockDim.x";

// The text of each operation on a, b and c; of others it is a itself.
constexpr std::pair<Operation, const char*> kTexts[] = {
#define SIGN(operation, sign, strength, value, text) {Operation::operation, text},
#define FUNCTION(operation, name, arguments, value, text) {Operation::operation, text},
#include "engine/language/operations.inc"
};

std::string result_of(Operation code, const std::string& a, const std::string& b,
                      const std::string& c) {
  const auto* const found =
      std::ranges::find(kTexts, code, &std::pair<Operation, const char*>::first);
  return found == std::end(kTexts) ? a : fmt::format(fmt::runtime(found->second), a, b, c);
}

/// Writes the text of one pass.
class Writer {
 public:
  Writer(const Pass& pass, DeviceText& out, std::size_t most_sources)
      : pass_(pass), out_(out), most_sources_(most_sources) {}

  void write() {
    std::string body;
    for (const Instruction& one : pass_.instructions) body += instruction(one);
    std::vector<std::string> stored;  // all are read before the first is written
    for (const Pass::Store& one : pass_.stores) stored.push_back(value(one.from));
    for (std::size_t k = 0; k < stored.size(); ++k)
      body += fmt::format("    a.p[{}][e] = {};\n", place(pass_.stores[k].to), stored[k]);
    std::string registers;
    for (std::uint16_t k = 0; k < pass_.registers; ++k)
      registers += fmt::format("    float r{} = 0;\n", k);
    body = registers + loads_ + body;
    out_.text = arguments() +
                "extern \"C\" __global__ void acid_kernel(const acid_arguments a) {\n" +
                (out_.reductions > 0 ? reducing(body) : plain(body)) + "}\n";
  }

 private:
  static std::string plain(const std::string& body) {
    return fmt::format("  for (unsigned long long e = {}; e < a.elements; e += {}) {{\n{}  }}\n",
                       kThread, kThreads, body);
  }

  // Each thread has one lane of a block.
  std::string reducing(const std::string& body) const {
    std::string begin, end;
    for (std::size_t k = 0; k < out_.reductions; ++k) {
      begin += fmt::format("  double l{} = 0;\n", k);
      end += fmt::format("  a.lanes[t * {} + {}] = l{};\n", out_.reductions, k, k);
    }
    return fmt::format(
        "  const unsigned long long lanes = (a.elements + {1}) / {0} * {2};\n"
        "  for (unsigned long long t = {3}; t < lanes; t += {4}) {{\n"
        "  const unsigned long long begin = t / {2} * {0};\n"
        "  const unsigned long long end = begin + {0} < a.elements ? begin + {0} : a.elements;\n"
        "{5}  for (unsigned long long e = begin + t % {2}; e < end; e += {2}) {{\n{6}  }}\n{7}  "
        "}}\n",
        kReductionBlock, kReductionBlock - 1, kReductionLanes, kThread, kThreads, begin, body, end);
  }

  std::string arguments() const {
    std::string members = "  unsigned long long elements;\n";
    if (out_.sources > 0)
      members += fmt::format("  unsigned long long heard, dimension;\n  const float* source[{}];\n",
                             out_.sources);
    if (!out_.places.empty()) members += fmt::format("  float* p[{}];\n", out_.places.size());
    if (out_.reductions > 0) members += "  double* lanes;\n";
    if (out_.sources > 0) members += fmt::format("  float weight[{}];\n", out_.sources);
    if (!out_.constants.empty()) members += fmt::format("  float c[{}];\n", out_.constants.size());
    return "struct acid_arguments {\n" + members + "};\n";
  }

  template <class T>
  static std::size_t index_in(std::vector<T>& list, const T& wanted) {
    const auto found = std::ranges::find(list, wanted);
    if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
    list.push_back(wanted);
    return list.size() - 1;
  }
  std::size_t place(const Operand& operand) { return index_in(out_.places, operand); }

  std::string value(const Operand& operand) {
    if (operand.kind == Kind::constant)
      return fmt::format("a.c[{}]", index_in(out_.constants, operand.index));
    if (operand.kind == Kind::register_) return fmt::format("r{}", operand.index);
    const std::size_t at = place(operand);
    const std::string name = fmt::format("v{}", at);
    if (std::ranges::find(loaded_, operand) != loaded_.end()) return name;
    loaded_.push_back(operand);
    loads_ += is_of_all_heard(operand)
                  ? heard(operand, name)
                  : fmt::format("    const float {} = a.p[{}][e];\n", name, at);
    return name;
  }

  // Computes what PassMemory::take() computes. After an all-reduce, the mean is in a place, and the
  // worker's own message in another.
  std::string heard(const Operand& operand, const std::string& name) {
    out_.sources = most_sources_;
    const std::string from = fmt::format("[{} * a.dimension + e]", operand.index);
    const auto given = [&](Kind kind) {
      return fmt::format("a.p[{}][e]", place({kind, operand.index}));
    };
    const std::string mean = given(Kind::mean);
    const char* const add =
        "        const float next = sum + one, added = next - sum;\n"
        "        rest = rest + ((sum - (next - added)) + (one - added));\n"
        "        sum = next;\n";
    return fmt::format(
        "    float {0};\n"
        "    if (a.heard == 0) {{\n"
        "      {0} = {1};\n"
        "    }} else {{\n"
        "      const float own = a.source[0]{2};\n"
        "      float sum = a.weight[0] == 0 ? 0.0f : a.weight[0] * own, rest = 0;\n"
        "      for (unsigned s = 1; s < a.heard; ++s) {{\n"
        "        const float one = a.weight[s] * (a.source[s]{2} - own);\n"
        "        if (s == 1 && a.weight[0] == 0) {{ sum = one; continue; }}\n"
        "{3}      }}\n"
        "      {0} = {4};\n"
        "    }}\n",
        name,
        operand.kind == Kind::mean   ? mean
        : operand.kind == Kind::pull ? fmt::format("{} - {}", mean, given(Kind::mine))
                                     : "0",
        from, operand.kind == Kind::rest ? add : "        sum = sum + one;\n",
        operand.kind == Kind::mean   ? "a.heard == 1 && a.weight[0] == 0 ? own : own + sum"
        : operand.kind == Kind::pull ? "sum"
                                     : "rest");
  }

  std::string instruction(const Instruction& one) {
    const std::size_t arguments = arguments_of(one.code);
    const std::string a = value(one.a), b = arguments > 1 ? value(one.b) : a;
    if (!is_reduction(one.code))
      return fmt::format("    r{} = {};\n", one.to,
                         result_of(one.code, a, b, arguments > 2 ? value(one.c) : a));
    out_.reductions = std::max<std::size_t>(out_.reductions, one.to + 1U);
    return one.code == Operation::sum
               ? fmt::format("    l{} += (double){};\n", one.to, a)
               : fmt::format("    l{} += (double){} * (double){};\n", one.to, a, b);
  }

  const Pass& pass_;
  DeviceText& out_;
  const std::size_t most_sources_;
  std::string loads_;
  std::vector<Operand> loaded_;
};

}  // namespace

DeviceText::DeviceText(const Pass& pass, std::size_t most_sources) {
  Writer(pass, *this, most_sources).write();
}

std::string device_program(std::span<const std::string> texts) {
  std::string program;
  for (std::size_t k = 0; k < texts.size(); ++k)
    program += fmt::format(
        "#define acid_kernel acid_kernel_{0}\n#define acid_arguments acid_arguments_{0}\n{1}"
        "#undef acid_kernel\n#undef acid_arguments\n",
        k, texts[k]);
  return program;
}

}  // namespace acid
