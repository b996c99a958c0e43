#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace acid::test {

/// One thing that somebody may have done to a store that acid does not expect.
struct Mutation {
  std::string name;  // mostly the SQL
  /// Does it to the store in this folder. Throws StoreError where the schema does not allow it.
  std::function<void(const std::string& store_folder)> apply;
};

/// All that are known for the store in `folder`, in an order that depends on the seed alone: values
/// of every column of every table, and of what JSON in them holds, rows and tables that are gone,
/// versions, views and triggers, and what stands in place of files.
std::vector<Mutation> mutations_of(const std::string& folder, std::uint64_t seed);

}  // namespace acid::test
