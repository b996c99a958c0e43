#pragma once

#include "cli/terminal/session.hpp"

namespace CLI {
class App;
}

namespace acid {

// Each function adds one command to the program: its options, its help, and what it does. Parsing a
// command line only fills in session.action; main runs it afterwards.
void add_run_command(CLI::App& app, Session& session);
void add_resume_command(CLI::App& app, Session& session);
void add_submit_command(CLI::App& app, Session& session);
void add_watch_command(CLI::App& app, Session& session);
void add_plan_command(CLI::App& app, Session& session);
void add_predict_command(CLI::App& app, Session& session);
void add_list_command(CLI::App& app, Session& session);
void add_show_command(CLI::App& app, Session& session);
void add_compare_command(CLI::App& app, Session& session);
void add_report_command(CLI::App& app, Session& session);
void add_figure_command(CLI::App& app, Session& session);
void add_export_command(CLI::App& app, Session& session);
void add_verify_command(CLI::App& app, Session& session);
void add_new_command(CLI::App& app, Session& session);
void add_explain_command(CLI::App& app, Session& session);
void add_methods_command(CLI::App& app, Session& session);
void add_topology_command(CLI::App& app, Session& session);
void add_machines_command(CLI::App& app, Session& session);
void add_doctor_command(CLI::App& app, Session& session);
void add_gc_command(CLI::App& app, Session& session);
void add_tag_command(CLI::App& app, Session& session);
void add_claim_command(CLI::App& app, Session& session);
void add_merge_command(CLI::App& app, Session& session);
void add_remove_command(CLI::App& app, Session& session);

}  // namespace acid
