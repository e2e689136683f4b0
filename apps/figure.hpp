// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace optinc {

/// One point of a curve; band ends are NaN where there is no band.
struct FigurePoint {
  double x{};
  double y{};
  double lo{};
  double hi{};
};

struct FigureCurve {
  std::string label;
  std::vector<FigurePoint> points;  ///< sorted by x; at least one with finite x and y
};

struct FigurePanel {
  std::string x_label;
  bool log_x = false;
  /// Names along the x axis, which are at x = 0, 1, ...; none: x is a number. A panel with names is
  /// the only one of its figure.
  std::vector<std::string> categories = {};
  std::vector<FigureCurve> curves;  ///< at least one
};

/// Curves with bands, one panel beside the other, with a common y axis.
struct Figure {
  std::string title;
  std::string y_label;
  bool log_y = false;
  int width_px = 900;
  int height_px = 480;
  std::vector<FigurePanel> panels;
};

/// Gnuplot program that draws `figure` into `output` (SVG or PNG by `png`). Text is taken
/// literally. On a log y axis zeros are drawn as triangles at the lower edge. Of many categories,
/// every k-th is labelled, so that labels do not overlap; long names lose their beginning.
std::string gnuplot_script(const Figure& figure, bool png, const std::filesystem::path& output);

/// Draws a figure, atomically; the ending of `output` (.svg, .png) chooses the format.
/// Throws ConfigError for another ending or a name with a line break, BackendError where gnuplot is
/// missing or fails.
void draw_figure(const Figure& figure, const std::filesystem::path& output);

}  // namespace optinc
