#pragma once

#include <string>
#include <vector>

#include "store/queries.hpp"

namespace acid {

/// A tag is a word: letters, digits and "._-", at most 40 of them. UsageError says what is wrong.
void require_tag(const std::string& tag);

/// The condition on runs (store/condition.hpp) that they have this tag, themselves or through an
/// experiment. UsageError as above.
std::string has_tag(const std::string& tag);

/// What is to be done to the tags and notes of some runs and experiments.
struct TagChange {
  std::vector<std::string> add, remove;
  std::string note;  // to be added, with the time; empty: none
};
struct TagsChanged {
  std::size_t added = 0, removed = 0, notes = 0;
};
/// In one transaction. A tag that is there already, or is not there, is no error.
TagsChanged change_tags(Store& store, const Named& named, const TagChange& change);

}  // namespace acid
