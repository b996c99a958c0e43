#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/base/descriptor.hpp"
#include "engine/python/shared_memory.hpp"

namespace acid {

class ModelProcess;

/// Templates: processes that have executed a user's Python file once and are forked for each
/// ModelProcess of this process, and of its descendants on this host, that would execute it in the
/// same surroundings. While an object of this class exists, ModelProcess asks a template where it
/// can. The templates end with this object, or with this process, as soon as their forks have
/// ended. At most one object at a time; one thread.
class ModelTemplates {
 public:
  /// `say` is told why a file cannot be forked, once for each file.
  explicit ModelTemplates(std::function<void(const std::string&)> say);
  ~ModelTemplates();
  ModelTemplates(const ModelTemplates&) = delete;
  ModelTemplates& operator=(const ModelTemplates&) = delete;

  /// Lets a template begin to execute the file of `options` (kProcessFields), unless one has. Does
  /// nothing for null, for settings without these fields, and without an object of this class.
  /// Where there can be no template every process executes the file itself.
  static void prepare(const nlohmann::json& options, int threads);
  /// Ends the templates, if there are any.
  static void end();

 private:
  void begin(const nlohmann::json& options, int threads);
  void clear();
  void say_hindrances();

  const std::function<void(const std::string&)> say_;
  std::optional<SharedMemory> memory_;  // from the first template on
  std::string folder_;  // of their addresses; only this user can enter it
  std::map<std::string, std::unique_ptr<ModelProcess>> templates_;  // by address; null: none
};

/// A fork that a template was asked for, or none.
struct ForkRequest {
  Descriptor answers;   // readable when there is an answer; none: there is no template
  std::string address;  // its file "ADDRESS.words" says where the template is, after a SIGQUIT
  int template_id = 0;

  /// The fork's process id, once there is an answer; 0: the template cannot fork.
  int id() const;
  /// The fork's status of wait(), once it has ended; absent if it has not within this time.
  std::optional<int> status_within(double seconds) const;
};
/// Asks the template for `options` and `threads`. The fork has these descriptors: socket, memory,
/// lifeline, words, standard error. Does not wait.
ForkRequest ask_for_fork(const nlohmann::json& options, int threads,
                         const std::array<int, 5>& descriptors);

}  // namespace acid
