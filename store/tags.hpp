#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/queries.hpp"

namespace acid {

/// A tag is a word: letters, digits and "._-", at most 40 of them. UsageError says what is wrong.
void require_tag(const std::string& tag);

/// The condition on runs (store/condition.hpp) that they have this tag, themselves or through an
/// experiment. UsageError as above.
std::string has_tag(const std::string& tag);
/// A condition for a message: "the tag 'final'" for has_tag("final"), any other as it is.
std::string words_of_condition(const std::string& condition);

/// What is to be done to the tags and notes of some runs and experiments.
struct TagChange {
  std::vector<std::string> add, remove;
  std::optional<std::string> note;  // to be added, with the time; empty: all notes are removed
};
struct TagsChanged {
  std::size_t added = 0, removed = 0, notes = 0, notes_removed = 0;
};
/// In one transaction. A tag that is there already, or is not there, is no error. UsageError, with
/// nothing changed, for what is no tag and for a note with control characters.
TagsChanged change_tags(Store& store, const Named& named, const TagChange& change);

/// The tags and notes of a run or an experiment.
struct Tagged {
  std::string kind, id;           // "run" or "experiment"
  std::string name;               // an experiment's
  std::vector<std::string> tags;  // by name
  std::vector<NoteRow> notes;     // oldest first
};
/// Runs first, then experiments, in the order of `named`, those without tags and notes too.
std::vector<Tagged> tags_of(const Store& store, const Named& named);

}  // namespace acid
