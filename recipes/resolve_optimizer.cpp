#include <fmt/format.h>

#include <algorithm>

#include "engine/base/names.hpp"
#include "engine/methods/listed.hpp"
#include "recipes/resolver.hpp"

namespace acid {

using nlohmann::json;

// Which optimiser the algorithm's steps are defined for.
void Resolver::look_at_steps() {
  const json& optimizer = s_["optimizer"];
  const std::string kind = text(optimizer, "kind");
  const auto refuse = [&](std::string_view key, std::string_view what, const std::string& remedy) {
    error(fmt::format("optimizer.{}", key),
          fmt::format("{} has a step of its own and takes the learning rate alone: {} has no part "
                      "in it",
                      entry_->name, what),
          remedy + ", or give the other algorithms their own optimizer with set");
  };
  const bool clips = optimizer.contains("clip_norm");
  if ((clips || kind == "muon") && !steps_by_gradients(*entry_))
    error(clips ? "optimizer.clip_norm" : "optimizer.kind",
          fmt::format("{} does not leave gradients to the worker's step: it sends them, or hears "
                      "something in their place, which {} would not reach",
                      entry_->name, clips ? "clipping" : "muon"),
          std::string(clips ? "leave clip_norm out" : "use kind = \"sgd\"") +
              ", or give the other algorithms their own optimizer with set");
  if (kind != "sgd") {
    if (entry_->optimizers == Optimizers::sgd)
      error("optimizer.kind",
            fmt::format("{} averages models every step and is defined for sgd, not for {}",
                        entry_->name, kind),
            "use kind = \"sgd\", or give the other algorithms their own optimizer with set");
    if (entry_->optimizers == Optimizers::none) refuse("kind", kind, "use kind = \"sgd\"");
    return;
  }
  if (entry_->optimizers != Optimizers::none) return;
  for (const char* key : {"momentum", "weight_decay"})
    if (number(optimizer, key) > 0) refuse(key, key, "leave it out");
}

// What would quietly not do what it says.
void Resolver::look_at_optimizer() {
  if (!draft_.sound({"task", "optimizer"}) || !model_) return;
  const json& optimizer = s_["optimizer"];
  if (optimizer["schedule"]["scale_with_workers"] != "none" && s_["task"]["batch_size"].is_null())
    error("optimizer.schedule.scale_with_workers",
          "the learning rate scales with the total batch, and the task has no batch_size",
          "remove it and set optimizer.learning_rate to what you mean");
  look_at_tensors("optimizer.no_decay");
  look_at_tensors("optimizer.sgd_tensors");
  if (optimizer["kind"] == "muon" && model_->all_one_dimensional)
    out_.warn(
        place("optimizer.kind"),
        {"everything that is trained here is one-dimensional: muon has no matrices, and every "
         "tensor takes SGD's step",
         "use kind = \"sgd\""});
  const bool clips = optimizer.contains("clip_norm");
  if (draft_.sound({"execution"}) && s_["execution"]["device"] == "cuda" &&
      (clips || optimizer["kind"] == "muon"))
    error(clips ? "optimizer.clip_norm" : "optimizer.kind",
          fmt::format("{} has no kernels for a GPU", clips ? "clip_norm" : "muon"),
          "use execution.device = \"cpu\", or another optimizer");
  if (number(optimizer, "weight_decay") > 0 && !optimizer["decay_one_dimensional"].get<bool>() &&
      model_->all_one_dimensional)
    error(
        "optimizer.decay_one_dimensional",
        "everything that is trained here is one-dimensional: without it weight_decay does nothing",
        "remove decay_one_dimensional, or weight_decay");
}

// Every text is to be in the name of a tensor, or a slip of the pen would change nothing.
void Resolver::look_at_tensors(std::string_view path) {
  const auto texts = s_["optimizer"].find(path.substr(path.rfind('.') + 1));
  if (texts == s_["optimizer"].end() || texts->empty()) return;
  if (path.ends_with("sgd_tensors") && model_->all_one_dimensional)
    return error(path, "optimizer.sgd_tensors: nothing that is trained here is a matrix",
                 "remove it, and use kind = \"sgd\"");
  if (model_->tensors.empty()) return;  // an analytic task's
  for (const std::string text : *texts)
    if (std::ranges::none_of(model_->tensors, [&](const std::string& tensor) {
          return is_named(tensor, std::span(&text, 1));
        }))
      error(path, fmt::format("{}: no tensor of the task has '{}' in its name", path, text),
            clip(fmt::format("its tensors are {}", fmt::join(model_->tensors, ", ")), 400));
}

}  // namespace acid
