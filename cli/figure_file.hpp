#pragma once

#include <string>

#include "reports/html/page_figure.hpp"

namespace acid {

/// Where a command saves a figure, and the figure's data beside it.
class FigureFile {
 public:
  /// `path` ends in .svg or .pdf. `width`: "column", "text" or millimetres; empty: `fallback`.
  /// Throws UsageError for others, and Error where neither file could be written.
  FigureFile(std::string path, const std::string& width, const char* fallback);
  /// Prints the names of both files. `titled`: with the drawing's title above it.
  void save(const PageFigure& figure, bool titled) const;

 private:
  std::string path_;
  double millimetres_;
  std::string numbers_;  // the file with the figure's data
  bool is_svg_;
};

}  // namespace acid
