#include <array>

#include "engine/base/fields.hpp"
#include "recipes/sections.hpp"

namespace acid {
namespace {

constexpr std::array kCommon = {
    Field{.name = "learning_rate",
          .type = FieldType::number,
          .fallback = "0.05",
          .help = "step size before schedule and scaling",
          .minimum = 0,
          .minimum_excluded = true},
    Field{.name = "weight_decay",
          .type = FieldType::number,
          .fallback = "0.0",
          .help = "L2 penalty (sgd, adam) or decoupled decay (adamw, muon)",
          .minimum = 0},
    Field{.name = "decay_one_dimensional",
          .type = FieldType::boolean,
          .fallback = "true",
          .help = "false spares biases and norms from weight decay"},
    Field{.name = "no_decay",
          .type = FieldType::texts,
          .fallback = "[]",
          .help = "spares the tensors whose names contain one of these from weight decay",
          .later = true},
    Field{.name = "clip_norm",
          .type = FieldType::number,
          .fallback = "null",
          .help = "gradients whose norm, of all tensors together, is larger are scaled down to it",
          .minimum = 0,
          .minimum_excluded = true,
          .later = true},
};
constexpr Field momentum_field(std::string_view fallback) {
  return {.name = "momentum",
          .type = FieldType::number,
          .fallback = fallback,
          .help = "share of the last step that is kept; each worker has its own",
          .minimum = 0,
          .maximum = 1,
          .maximum_excluded = true};
}
constexpr Field nesterov_field(std::string_view fallback) {
  return {.name = "nesterov",
          .type = FieldType::boolean,
          .fallback = fallback,
          .help = "look ahead along the momentum"};
}
constexpr std::array kSgd = {momentum_field("0.0"), nesterov_field("false")};
constexpr std::array kAdam = {
    Field{.name = "beta1",
          .type = FieldType::number,
          .fallback = "0.9",
          .help = "decay of the gradient's mean",
          .minimum = 0,
          .maximum = 1,
          .maximum_excluded = true},
    Field{.name = "beta2",
          .type = FieldType::number,
          .fallback = "0.999",
          .help = "decay of the gradient's second moment",
          .minimum = 0,
          .maximum = 1,
          .maximum_excluded = true},
    Field{.name = "epsilon",
          .type = FieldType::number,
          .fallback = "1e-8",
          .help = "added to the root of the second moment",
          .minimum = 0,
          .minimum_excluded = true},
};
// Defaults of the public description; the learning rate it takes is 0.02.
constexpr std::array kMuon = {
    momentum_field("0.95"),
    nesterov_field("true"),
    Field{.name = "sgd_tensors",
          .type = FieldType::texts,
          .fallback = "[]",
          .help = "matrices whose names contain one of these take SGD's step, as all that are no "
                  "matrices: embeddings and the last layer had better"},
    Field{.name = "sgd_scale",
          .type = FieldType::number,
          .fallback = "1.0",
          .help = "SGD's step takes the learning rate times this",
          .minimum = 0},
};
constexpr std::array kOptimizers = {
    Kind{"sgd", kSgd, "stochastic gradient descent, with momentum where asked"},
    Kind{"adam", kAdam, "Adam; weight decay is an L2 penalty"},
    Kind{"adamw", kAdam, "Adam whose weight decay is decoupled from the gradient"},
    Kind{"muon", kMuon,
         "momentum whose matrices are made orthogonal (kellerjordan.github.io/posts/muon); a "
         "learning rate of 0.02 is usual"}};

constexpr std::array kScheduleCommon = {
    Field{.name = "warmup",
          .type = FieldType::moment,
          .fallback = "0.0",
          .help = "share of the budget over which the learning rate rises linearly, or so many "
                  "epochs or gradients",
          .minimum = 0,
          .maximum = 1,
          .maximum_excluded = true},
    Field{.name = "warmup_from",
          .type = FieldType::number,
          .fallback = "null",
          .help = "share of the learning rate at which it begins to rise; else 0, or with linear "
                  "scaling the unscaled rate",
          .minimum = 0,
          .maximum = 1,
          .later = true},
    Field{.name = "scale_with_workers",
          .type = FieldType::text,
          .fallback = "\"none\"",
          .help = "linear: times batch_size x workers / reference_batch (Goyal et al. 2017)",
          .choices = "none,linear"},
    Field{.name = "reference_batch",
          .type = FieldType::integer,
          .fallback = "256",
          .help = "total batch at which the learning rate is meant, for linear scaling",
          .minimum = 1},
};
constexpr std::array kStep = {
    Field{.name = "milestones",
          .type = FieldType::moments,
          .fallback = "[0.5, 0.75]",
          .help = "ascending shares of the budget at which the learning rate drops, or epochs or "
                  "gradients, which are sums over all workers",
          .minimum = 0,
          .maximum = 1,
          .minimum_excluded = true,
          .maximum_excluded = true},
    Field{.name = "gamma",
          .type = FieldType::number,
          .fallback = "0.1",
          .help = "factor at each milestone",
          .minimum = 0,
          .minimum_excluded = true},
};
constexpr std::array kCosine = {
    Field{.name = "minimum",
          .type = FieldType::number,
          .fallback = "0.0",
          .help = "final factor",
          .minimum = 0,
          .maximum = 1},
};
constexpr std::array kSchedules = {
    Kind{"constant", {}, "the same at all times, after the warm-up"},
    Kind{"step", kStep, "drops at milestones"},
    Kind{"cosine", kCosine, "falls along half a cosine over the budget"},
    Kind{"inverse-sqrt",
         {},
         "falls with the square root of progress, after the warm-up or 1 % of the budget"}};
constexpr std::array<std::string_view, 1> kOptimizerElsewhere = {"schedule"};

void check_milestones(Checker& checker, const Node& node, const nlohmann::json& schedule) {
  const auto found = schedule.find("milestones");
  if (found == schedule.end()) return;
  const nlohmann::json& milestones = found->is_object() ? found->front() : *found;
  double last = 0;
  for (const nlohmann::json& milestone : milestones) {
    if (milestone.get<double>() <= last) {
      const std::string unit = found->is_object() ? "." + found->begin().key() : "";
      checker.diagnostics().error(place_of(node, "milestones" + unit),
                                  "optimizer.schedule.milestones must ascend",
                                  "sort them, each once: milestones = [0.5, 0.75]");
      return;
    }
    last = milestone.get<double>();
  }
}

}  // namespace

nlohmann::json check_optimizer(Checker& checker, const Node* node) {
  nlohmann::json optimizer =
      checker.kinded(node, "optimizer", kOptimizers, "sgd", {kCommon, kOptimizerElsewhere});
  const Node* schedule = node == nullptr ? nullptr : node->find("schedule");
  optimizer["schedule"] =
      checker.kinded(schedule, "optimizer.schedule", kSchedules, "constant", {kScheduleCommon});
  if (schedule != nullptr) check_milestones(checker, *schedule, optimizer["schedule"]);
  if (optimizer.value("nesterov", false) && optimizer.value("momentum", 0.0) == 0)
    checker.diagnostics().error(place_of(*node, "nesterov"),
                                "optimizer.nesterov needs momentum, which is 0",
                                "set momentum, such as 0.9, or remove nesterov");
  return optimizer;
}

}  // namespace acid
