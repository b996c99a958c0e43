#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/language/program.hpp"

namespace acid {

/// Builds the pass of one stage for given truth values of its conditions.
class PassBuilder {
 public:
  PassBuilder(const PartProgram& program, std::size_t stage, const PartProgram::Variant& variant)
      : program_(program), stage_(stage), variant_(variant), names_(program.names_) {}
  Pass build();

 private:
  struct Side {  // a worker of a meeting
    std::map<std::string, Operand, std::less<>> current;
    std::vector<Operand> said;
  };
  void meet();
  void finish();
  Operand emit(Operation code, Operand a, Operand b = {}, Operand c = {});
  std::optional<Operand> known_result(Operation code, const Operand& a, const Operand& b);
  Operand constant(HiddenNumber number) const;
  Operand message(Operand::Kind kind, std::size_t index) const;
  bool is_sent(std::size_t message) const;
  Operand compile(const Expression& value);
  Operand vector(const std::string& name);
  Operand direction();
  Operand adam(Operand gradient, Operand decay);
  void drift(HiddenNumber by);
  std::optional<Operand> place_of(std::string_view name) const;
  void add_pulls();
  void assign_with_rest(const std::string& rest, const Expression& value);
  Operand lost_by(Operand sum, Operand a, Operand b);
  std::optional<Operand> rest_of_pull(const Expression& value);
  void assign(const std::string& name, Operand value);
  void reduce();
  void store_all();
  void store(Operand from, Operand to);
  void forget_unused();
  void allocate_registers();

  const PartProgram& program_;
  const std::size_t stage_;
  const PartProgram::Variant variant_;
  const ListedNames& names_;
  Pass pass_;
  std::map<std::string, Operand, std::less<>> current_;  // vectors by name
  std::vector<std::string> assigned_;                    // of the worker, in order
  std::optional<Operand> direction_;
  Side sides_[2];
  std::map<Operand, Operand> negated_;  // what these registers are minus of
  std::size_t side_ = 0;                // of a meeting: whose statements are compiled
};

/// The place of a worker's vector: x, a kept vector, the gradient; absent for temporaries.
std::optional<Operand> place_of_vector(const Listing& listing, std::string_view name);

}  // namespace acid
