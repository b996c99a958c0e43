#include "settings/schema.hpp"
#include "settings/sections.hpp"
#include "settings/use.hpp"

namespace acid {
namespace {

using Run = RunSettings;
using Optimizer = OptimizerSettings;

constexpr Key<Run> momentum(std::string_view fallback) {
  return key<&Run::optimizer, &Optimizer::momentum>(
      "momentum", fallback, "share of the last step that is kept; each worker has its own",
      at_least(0).below(1));
}
constexpr Key<Run> nesterov(std::string_view fallback) {
  return key<&Run::optimizer, &Optimizer::nesterov>("nesterov", fallback,
                                                    "look ahead along the momentum");
}
constexpr Fields kSgd = fields<Run>({momentum("0.0"), nesterov("false")});
constexpr Fields kAdam = fields<Run>(
    {key<&Run::optimizer, &Optimizer::beta1>("beta1", "0.9", "decay of the gradient's mean",
                                             at_least(0).below(1)),
     key<&Run::optimizer, &Optimizer::beta2>(
         "beta2", "0.999", "decay of the gradient's second moment", at_least(0).below(1)),
     key<&Run::optimizer, &Optimizer::epsilon>(
         "epsilon", "1e-8", "added to the root of the second moment", above(0))});
// Defaults of the public description, which uses the learning rate 0.02.
constexpr Fields kMuon = fields<Run>(
    {momentum("0.95"), nesterov("true"),
     key<&Run::optimizer, &Optimizer::sgd_tensors>("sgd_tensors", "[]",
                                                   "matrices whose names contain one of these take "
                                                   "SGD's step, like tensors that are no matrices: "
                                                   "better for embeddings and the last layer"),
     key<&Run::optimizer, &Optimizer::sgd_scale>(
         "sgd_scale", "1.0", "SGD's step takes the learning rate times this", at_least(0))});

constexpr Fields kStep = fields<Run>(
    {key<&Run::schedule, &Schedule::milestones>(
         "milestones", "[0.5, 0.75]",
         "ascending shares of the budget at which the learning rate drops, or epochs or gradients, "
         "which are sums over all workers",
         above(0).below(1))
         .as(FieldType::moments),
     key<&Run::schedule, &Schedule::gamma>("gamma", "0.1", "factor at each milestone", above(0))});
constexpr Fields kCosine = fields<Run>({key<&Run::schedule, &Schedule::minimum>(
    "minimum", "0.0", "final factor", at_least(0).at_most(1))});
constexpr KindedFields kSchedule = kinded(
    fields<Run>(
        {key<&Run::schedule, &Schedule::warmup>(
             "warmup", "0.0",
             "share of the budget over which the learning rate rises linearly, or so many epochs "
             "or gradients",
             at_least(0).below(1))
             .as(FieldType::moment),
         key<&Run::schedule, &Schedule::warmup_from>(
             "warmup_from", "null",
             "share of the learning rate at which it begins to rise; else 0, or with linear "
             "scaling the unscaled rate if that is lower",
             at_least(0).at_most(1))
             .later()
             .unused(&use::without_warmup),
         choice<&Run::scales_with_workers>(
             "scale_with_workers", "none,linear", "\"none\"",
             "linear: times batch_size x workers / reference_batch (Goyal et al. 2017)",
             Values<false, true>{}),
         key_of<Run>("reference_batch", FieldType::integer, "256",
                     "total batch at which the learning rate is meant, for linear scaling",
                     at_least(1))
             .unused(&use::without_scaling)}),
    "constant",
    {kind<kNoKeys<Run>, &Run::schedule, &Schedule::kind>(
         "constant", "the same at all times, after the warm-up", Values<ScheduleKind::constant>{}),
     kind<kStep, &Run::schedule, &Schedule::kind>("step", "drops at milestones",
                                                  Values<ScheduleKind::step>{}),
     kind<kCosine, &Run::schedule, &Schedule::kind>(
         "cosine", "falls along half a cosine over the budget", Values<ScheduleKind::cosine>{}),
     kind<kNoKeys<Run>, &Run::schedule, &Schedule::kind>(
         "inverse-sqrt",
         "falls with the square root of progress, after the warm-up or 1 % of the budget",
         Values<ScheduleKind::inverse_sqrt>{})});

constexpr KindedFields kOptimizer = kinded(
    fields<Run>(
        {key<&Run::schedule, &Schedule::learning_rate>(
             "learning_rate", "0.05", "step size before schedule and scaling", above(0)),
         key<&Run::optimizer, &Optimizer::weight_decay>(
             "weight_decay", "0.0",
             "L2 penalty (sgd, adam) or decoupled decay (adamw, muon), of the model as it steps",
             at_least(0)),
         key<&Run::optimizer, &Optimizer::decay_one_dimensional>(
             "decay_one_dimensional", "true", "false: no weight decay for biases and norms")
             .unused(&use::without_decay),
         key<&Run::optimizer, &Optimizer::no_decay>(
             "no_decay", "[]", "no weight decay for tensors whose names contain one of these")
             .later()
             .unused(&use::without_decay),
         key<&Run::optimizer, &Optimizer::clip_norm>(
             "clip_norm", "null",
             "largest norm of a gradient, over all tensors; larger ones are scaled down to it",
             above(0))
             .later(),
         section<kSchedule>("schedule", "how the learning rate changes along the budget")}),
    "sgd",
    {kind<kSgd, &Run::optimizer, &Optimizer::kind>(
         "sgd", "stochastic gradient descent, with momentum where asked",
         Values<OptimizerKind::sgd>{}),
     kind<kAdam, &Run::optimizer, &Optimizer::kind>("adam", "Adam; weight decay is an L2 penalty",
                                                    Values<OptimizerKind::adam>{}),
     kind<kAdam, &Run::optimizer, &Optimizer::kind>(
         "adamw", "Adam whose weight decay is decoupled from the gradient",
         Values<OptimizerKind::adamw>{}),
     kind<kMuon, &Run::optimizer, &Optimizer::kind>(
         "muon",
         "momentum whose matrices are made orthogonal (kellerjordan.github.io/posts/muon); a "
         "learning rate of 0.02 is usual",
         Values<OptimizerKind::muon>{})});

}  // namespace

const FieldTable optimizer_table = table_of<kOptimizer>();

void read_optimizer(RunSettings& settings, const nlohmann::json& section,
                    const Field& /*its own*/) {
  kOptimizer.fill(settings, section);
}

}  // namespace acid
