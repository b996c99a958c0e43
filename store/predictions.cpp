// What runs were predicted to do, before they began.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "store/impl.hpp"
#include "store/proof.hpp"
#include "store/queries.hpp"
#include "store/select.hpp"
#include "store/utc.hpp"

namespace acid {
namespace {

using nlohmann::json;

/// The number of a run that has neither a prediction nor an attempt.
std::optional<std::int64_t> unbegun(const sqlite::Connection& connection, const std::string& id) {
  Statement find(connection,
                 "SELECT r.number FROM runs r WHERE r.id = ?"
                 " AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.run = r.number)"
                 " AND NOT EXISTS (SELECT 1 FROM predictions p WHERE p.run = r.number)");
  if (!find.bind(id).step()) return std::nullopt;
  return find.integer(0);
}

}  // namespace

std::size_t Store::add_predictions(const std::vector<RunPrediction>& predictions) {
  const sqlite::Connection& connection = impl_->connection();
  Transaction transaction(connection, Transaction::Kind::write);
  const std::string now = utc_now();
  Statement one(connection, "INSERT INTO predictions VALUES (?, ?, ?)");
  Statement value(connection, "INSERT INTO predicted_values VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  std::size_t stored = 0;
  for (const RunPrediction& prediction : predictions) {
    const auto run = unbegun(connection, prediction.run);
    if (!run) continue;
    std::optional<std::string> experiment;
    if (!prediction.experiment.empty()) experiment = prediction.experiment;
    one.bind(*run, now, experiment).run();
    std::size_t position = 0;
    for (const PredictedValue& each : prediction.values)
      value
          .bind(*run, position++, each.quantity, each.normalised_time, each.mean, each.low,
                each.high, json(each.draws).dump())
          .run();
    ++stored;
  }
  transaction.commit();
  return stored;
}

std::optional<RunPrediction> prediction_of(const Store& store, const std::string& run_id) {
  const sqlite::Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  Statement find(connection,
                 "SELECT p.run, p.made, coalesce(p.experiment, ''),"
                 " p.made > (SELECT min(started) FROM attempts WHERE run = p.run)"
                 " FROM predictions p JOIN runs r ON r.number = p.run WHERE r.id = ?");
  if (!find.bind(run_id).step()) return std::nullopt;
  RunPrediction prediction{.run = run_id,
                           .experiment = find.text(2),
                           .values = {},
                           .made = find.text(1),
                           .is_late = !find.is_null(3) && find.integer(3) != 0,
                           .is_altered = !part_holds(connection, find.integer(0), kPredictionPart)};
  Statement values(connection,
                   "SELECT quantity, normalised_time, mean, low, high, draws FROM predicted_values"
                   " WHERE run = ? ORDER BY position");
  const std::string whose = "the prediction of run " + run_id;
  for (values.bind(find.integer(0)); values.step();)
    prediction.values.push_back({values.text(0), values.optional_real(1), values.real(2),
                                 values.real(3), values.real(4), stored_reals(values, 5, whose)});
  return prediction;
}

}  // namespace acid
