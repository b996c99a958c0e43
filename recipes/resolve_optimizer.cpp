#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"
#include "engine/methods/listed.hpp"
#include "recipes/resolver.hpp"

namespace acid {

using nlohmann::json;

namespace {

constexpr const char* kOthersTheirOwn =
    ", or give the other algorithms their own optimizer with set";

/// Whether a method's own step is Adam's, by the names of its parameters.
bool has_moments_of_adam(const json& algorithm) {
  return algorithm.contains("beta1") && algorithm.contains("beta2") &&
         algorithm.contains("epsilon");
}

/// The first Adam parameter of the method that differs from the recipe's optimizer; nullptr: none.
const char* other_moment(const json& optimizer, const json& algorithm) {
  for (const char* key : {"beta1", "beta2", "epsilon"})
    if (algorithm.contains(key) && number(optimizer, key) != number(algorithm, key)) return key;
  return nullptr;
}

/// The key that changes gradients before a method's own step on the host only; nullptr: none.
const char* added_on_host(const json& optimizer, Optimizers optimizers) {
  if (optimizers == Optimizers::sgd && optimizer.value("momentum", 0.0) > 0) return "momentum";
  const bool decays = optimizer["kind"] != "adamw" && number(optimizer, "weight_decay") > 0;
  const bool own = optimizers == Optimizers::sgd || optimizers == Optimizers::own;
  return own && decays ? "weight_decay" : nullptr;
}

}  // namespace

// Checks that the algorithm's steps are defined for the optimiser.
void Resolver::look_at_steps() {
  const json& optimizer = s_["optimizer"];
  const std::string kind = text(optimizer, "kind");
  const bool clips = optimizer.contains("clip_norm");
  if ((clips || kind == "muon") && !steps_by_gradients(*entry_))
    error(clips ? "optimizer.clip_norm" : "optimizer.kind",
          fmt::format("{} does not leave gradients to the worker's step: it sends them, or hears "
                      "something in their place, which {} would not reach",
                      entry_->name, clips ? "clipping" : "muon"),
          std::string(clips ? "leave clip_norm out" : "use kind = \"sgd\"") + kOthersTheirOwn);
  const bool adam = kind == "adam" || kind == "adamw";
  if (adam && entry_->optimizers == Optimizers::any && averages_in_gradient(*entry_))
    error("optimizer.kind",
          fmt::format("{} averages models by its gradients, and {} divides these by their size: "
                      "little of the average is left",
                      entry_->name, kind),
          std::string("use kind = \"sgd\"") + kOthersTheirOwn);
  // A correction makes the workers' steps cancel. Where these are not in proportion to gradients,
  // the gradients do not cancel there.
  if (corrects_bias(*entry_) && kind != "sgd" && entry_->optimizers == Optimizers::any)
    error("optimizer.kind",
          fmt::format("{} comes to rest where the steps of all workers cancel, and those of {} are "
                      "not in proportion to gradients: it would not correct the bias",
                      entry_->name, kind),
          std::string("use kind = \"sgd\"") + kOthersTheirOwn);
  else if (corrects_bias(*entry_) && clips)
    warn("optimizer.clip_norm",
         {fmt::format("{} comes to rest where the workers' gradients cancel as they are clipped: "
                      "that is not the optimum if clip_norm is less than a worker's norm there",
                      entry_->name),
          "use one that only the first gradients exceed, or leave it out"});
  if (entry_->optimizers == Optimizers::any) return;
  const bool steps = entry_->optimizers != Optimizers::none;
  const json& algorithm = s_["algorithm"];
  if (adam && steps && has_moments_of_adam(algorithm)) {
    if (const char* const key = other_moment(optimizer, algorithm))
      error(fmt::format("optimizer.{}", key),
            fmt::format("optimizer.{0} is {1}, and {2} has a {0} of its own, which is {3}", key,
                        number(optimizer, key), entry_->name, number(algorithm, key)),
            fmt::format("write {} = {} in its table of [[algorithms]] too", key,
                        number(optimizer, key)));
    return;
  }
  const auto refuse = [&](std::string_view key, std::string_view what, const char* remedy) {
    error(fmt::format("optimizer.{}", key),
          steps
              ? fmt::format("{} has a step of its own, which takes the learning rate{} weight "
                            "decay: {} has no part in it",
                            entry_->name,
                            entry_->optimizers == Optimizers::sgd ? ", momentum and" : " and", what)
              : fmt::format("workers of {} take no step, they send their gradients as they are: "
                            "{} has no part in it",
                            entry_->name, what),
          remedy + std::string(kOthersTheirOwn));
  };
  if (kind != "sgd") return refuse("kind", kind, "use kind = \"sgd\"");
  if (entry_->optimizers != Optimizers::sgd && number(optimizer, "momentum") > 0)
    refuse("momentum", "momentum", "leave it out");
  if (!steps && number(optimizer, "weight_decay") > 0)
    refuse("weight_decay", "weight_decay", "leave it out");
}

// Reports keys that would silently have no effect.
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
  const bool on_device = draft_.sound({"execution"}) && s_["execution"]["device"] == "cuda";
  if (on_device && (clips || optimizer["kind"] == "muon"))
    error(clips ? "optimizer.clip_norm" : "optimizer.kind",
          fmt::format("{} has no kernels for a GPU", clips ? "clip_norm" : "muon"),
          "use execution.device = \"cpu\", or another optimizer");
  else if (const char* const key = on_device && entry_ != nullptr
                                       ? added_on_host(optimizer, entry_->optimizers)
                                       : nullptr)
    error(fmt::format("optimizer.{}", key),
          fmt::format("{} in the gradients of {}, which has a step of its own, has no kernels for "
                      "a GPU",
                      key, entry_->name),
          "use execution.device = \"cpu\", or leave it out");
  if (number(optimizer, "weight_decay") > 0 && !optimizer["decay_one_dimensional"].get<bool>() &&
      model_->all_one_dimensional)
    error(
        "optimizer.decay_one_dimensional",
        "everything that is trained here is one-dimensional: without it weight_decay does nothing",
        "remove decay_one_dimensional, or weight_decay");
}

// Turns warm-up and milestones into shares of the resolved budget.
void Resolver::look_at_schedule(const Pace& pace, const Report& report) {
  json& schedule = s_["optimizer"]["schedule"];
  const bool by_time = s_["budget"]["normalised_time"].is_number();
  for (const char* key : {"warmup", "milestones"})
    if (by_time && schedule.contains(key) && schedule[key].is_object() && entry_ != nullptr &&
        meets(entry_->peers) && draft_.sound({"execution"}) &&
        simulates(text(s_["execution"], "driver")) &&
        s_["execution"]["virtual"]["gradient_clock"] == "poisson")
      return error(fmt::format("optimizer.schedule.{}", key),
                   fmt::format("optimizer.schedule.{} = {} counts gradients, and they come at "
                               "random: with budget.normalised_time schedules follow time",
                               key, schedule[key].dump()),
                   "write shares of the budget, or say the budget in gradients or epochs");
  resolve_schedule(schedule, pace, s_["budget"], report);
  const json& warmup = schedule["warmup"];
  if (schedule.contains("milestones") && schedule["milestones"].is_array() && warmup.is_number())
    for (const json& milestone : schedule["milestones"])
      if (milestone.get<double>() < warmup.get<double>()) {
        const std::string path = "optimizer.schedule.milestones";
        out_.warn(
            place(path),
            {fmt::format("{}: one is at {:.3g} of the budget, within the warm-up, which lasts "
                         "until {:.3g}: the learning rate rises to its full height all the "
                         "same and drops at the warm-up's end",
                         path, milestone.get<double>(), warmup.get<double>()),
             "place milestones after the warm-up, or shorten that"});
        break;
      }
  // Without linear scaling 0 is the default.
  if (schedule["scale_with_workers"] == "none" && schedule.contains("warmup_from") &&
      schedule["warmup_from"] == 0.0)
    schedule.erase("warmup_from");
}

// Checks that every text occurs in a tensor's name, so that a typing mistake is noticed.
void Resolver::look_at_tensors(std::string_view path) {
  const auto texts = s_["optimizer"].find(path.substr(path.rfind('.') + 1));
  if (texts == s_["optimizer"].end() || texts->empty()) return;
  if (path.ends_with("sgd_tensors") && model_->all_one_dimensional)
    return error(path, "optimizer.sgd_tensors: nothing that is trained here is a matrix",
                 "remove it, and use kind = \"sgd\"");
  if (model_->tensors.empty()) return;  // an analytic task
  for (const std::string text : *texts)
    if (std::ranges::none_of(model_->tensors, [&](const std::string& tensor) {
          return is_named(tensor, std::span(&text, 1));
        }))
      error(path, fmt::format("{}: no tensor of the task has '{}' in its name", path, text),
            clip(fmt::format("its tensors are {}", fmt::join(model_->tensors, ", ")), 400));
}

}  // namespace acid
