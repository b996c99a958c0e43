#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace acid::test {

/// One unexpected alteration of a store.
struct Mutation {
  std::string name;  // mostly the SQL
  /// Makes the alteration in the store in this folder. Throws StoreError when the schema forbids
  /// it.
  std::function<void(const std::string& store_folder)> apply;
};

/// All known alterations of the store in `folder`, in an order that depends on the seed alone:
/// values of every column of every table, and of the JSON in them, missing rows and tables,
/// versions, views and triggers, and other files in place of files.
std::vector<Mutation> mutations_of(const std::string& folder, std::uint64_t seed);

}  // namespace acid::test
