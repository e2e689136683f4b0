// SPDX-License-Identifier: Apache-2.0
#include "solver/config/schema.hpp"

#include <algorithm>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "devices/layout.hpp"
#include "solver/text.hpp"

namespace optinc {
namespace {

using std::numbers::pi;
constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr double largest_integer = 9007199254740992.0;  // 2^53: every integer up to it is a double
constexpr auto none = std::nullopt;

ConfigKey real(std::string path, std::optional<ConfigValue> fallback, double minimum,
               double maximum, std::string unit, std::string description) {
  return {.path = std::move(path),
          .type = ConfigType::real,
          .default_value = std::move(fallback),
          .minimum = minimum,
          .maximum = maximum,
          .choices = {},
          .unit = std::move(unit),
          .description = std::move(description),
          .built = true,
          .unbuilt_choices = {}};
}

ConfigKey integer(std::string path, std::optional<ConfigValue> fallback, double minimum,
                  double maximum, std::string description) {
  ConfigKey key =
      real(std::move(path), std::move(fallback), minimum, maximum, "", std::move(description));
  key.type = ConfigType::integer;
  return key;
}

ConfigKey choice(std::string path, std::optional<ConfigValue> fallback,
                 std::vector<std::string> choices, std::vector<std::string> unbuilt_choices,
                 std::string description) {
  ConfigKey key =
      real(std::move(path), std::move(fallback), -unbounded, unbounded, "", std::move(description));
  key.type = ConfigType::choice;
  key.choices = std::move(choices);
  key.unbuilt_choices = std::move(unbuilt_choices);
  return key;
}

ConfigKey file(std::string path, std::string description) {
  ConfigKey key = real(std::move(path), none, -unbounded, unbounded, "", std::move(description));
  key.type = ConfigType::file;
  return key;
}

ConfigKey boolean(std::string path, std::optional<ConfigValue> fallback, std::string description) {
  ConfigKey key =
      real(std::move(path), std::move(fallback), -unbounded, unbounded, "", std::move(description));
  key.type = ConfigType::boolean;
  return key;
}

ConfigKey unbuilt(ConfigKey key) {
  key.built = false;
  return key;
}

ConfigKey unbuilt_real(std::string path, double minimum, double maximum, std::string unit,
                       std::string description) {
  return unbuilt(
      real(std::move(path), none, minimum, maximum, std::move(unit), std::move(description)));
}

using Keys = std::vector<ConfigKey>;
using Text = std::string;

void add_workload(Keys& keys) {
  keys.push_back(choice("workload.kind", Text("trace"),
                        {"trace", "gaussian", "laplace", "student_t"}, {},
                        "where the gradients come from: a file, or random numbers of that "
                        "distribution drawn from montecarlo.seed"));
  keys.push_back(file("workload.trace", "gradient trace (HDF5, optinc-gradient-trace/1)"));
  keys.push_back(integer("workload.servers", none, 2, 64,
                         "servers that are averaged: of a trace the first ones, unset: all; of a "
                         "synthetic workload, unset: 4"));
  keys.push_back(integer("workload.elements", none, 1, largest_integer,
                         "synthetic workload: elements per server; unset: 1048576"));
  keys.push_back(real("workload.correlation", none, 0, 1, "",
                      "synthetic workload: correlation between the normal scores of two servers; "
                      "unset: 0"));
  keys.push_back(real("workload.degrees_of_freedom", none, 1, 1e6, "",
                      "kind student_t: its degrees of freedom; unset: 4"));
  keys.push_back(real("workload.scale", none, 1e-30, 1e10, "",
                      "synthetic workload: factor on the unit normal, the Laplace of density "
                      "exp(-|x|)/2, or Student's t; unset: 1"));
  keys.push_back(integer("workload.bits", std::int64_t{8}, 4, 16,
                         "bits b per transmitted value, even; two per PAM4 symbol"));
  keys.push_back(integer("workload.block", std::int64_t{1024}, 1, largest_integer,
                         "elements that share one quantiser scale"));
  keys.push_back(
      integer("workload.code_offset", none, 1, 65534, "code that means zero; unset: 2^(b-1)"));
  keys.push_back(choice("workload.rounding", Text("half_up"), {"half_up", "half_even", "floor"}, {},
                        "how the average of the servers becomes an integer"));
  keys.push_back(
      boolean("workload.power_of_two_scale", false, "round block scales up to powers of two"));
  keys.push_back(boolean("workload.stochastic_rounding", false,
                         "quantiser rounds up or down at random, right on average, instead of half "
                         "to even; drawn from montecarlo.seed, the same for every chip"));
}

void add_network(Keys& keys) {
  keys.push_back(
      choice("network.kind", Text("analytic"), {"analytic"}, {},
             "network built from formulas, exact by construction; or give network.file"));
  keys.push_back(choice("network.form", Text("ripple"), {"ripple", "pipeline"}, {},
                        "analytic network: digits resolved from the bottom (2 or 4 servers) or "
                        "from the top (any number)"));
  keys.push_back(choice("network.step", Text("clipped_relu"), {"clipped_relu", "relu"}, {},
                        "analytic network: detector nonlinearity, one clipped_relu or two relu "
                        "units per step"));
  keys.push_back(file("network.file",
                      "network file (HDF5, optinc-network/1) in place of an "
                      "analytic network"));
  keys.push_back(choice("network.cascade", none, {"none", "fraction", "naive"}, {},
                        "two levels of units: level 1 averages groups of servers and passes the "
                        "average on with its fraction (fraction) or rounded (naive), level 2 "
                        "averages what they give; unset: none"));
  keys.push_back(integer("network.level2_servers", none, 2, 32,
                         "cascade of analytic networks: units of level 1, each of which takes an "
                         "equal share of the servers, in order; unset: the square root of the "
                         "servers"));
  keys.push_back(integer("network.level2_digits_per_input", none, 1, 11,
                         "cascade of analytic networks: digits merged per input of level 2, whose "
                         "values have the digits of the fraction too; unset: as for "
                         "network.digits_per_input"));
  keys.push_back(file("network.level2_file",
                      "cascade with network.file, which is level 1: the network file of level 2"));
  keys.push_back(choice("network.mapping", Text("svd"),
                        {"svd", "segmented", "real_part", as_trained}, {},
                        "how a weight matrix becomes meshes: two meshes and attenuators, square "
                        "blocks of one mesh and attenuators (approximate), square blocks whose "
                        "real part is the weight, or what the network file says of each layer "
                        "(default with network.file)"));
  keys.push_back(
      choice("network.mesh", Text("clements"), {"clements", "reck"}, {}, "topology of the meshes"));
  keys.push_back(
      choice("network.mzi", Text("standard"), {"standard", "three_splitter", "crossing"}, {},
             "MZIs of the meshes: plain, with a third coupler ahead, or with a waveguide "
             "crossing behind"));
  keys.push_back(choice("network.calibration", Text("none"), {"none", "local", "self"}, {},
                        "correction of each chip's phases: from its known errors, or from fields "
                        "it measures"));
  keys.push_back(integer("network.digits_per_input", none, 1, 8,
                         "PAM4 digits merged per network input; unset: 1 for b <= 8, else 2 where "
                         "the digit count is even, else 1"));
  keys.push_back(choice("network.layer_gain", Text("nominal"), {"nominal", "none"}, {"fitted"},
                        "electronic gain per layer: restore the scale of the weights, or none"));
  keys.push_back(
      integer("network.segment", none, 1, 4096,
              "side of the square blocks that a weight matrix is cut into; unset: its smaller "
              "side, with svd the whole matrix"));
  keys.push_back(unbuilt(
      choice("network.lo_phase", none, {}, {"fitted"}, "local-oscillator phase per layer")));
  keys.push_back(
      unbuilt(choice("network.detection", none, {}, {"homodyne_relu", "clipped_relu", "intensity"},
                     "detection after each layer; set by network.step or the network "
                     "file in this version")));
  keys.push_back(unbuilt_real("network.clip", 0, unbounded, "",
                              "saturation of clipped_relu; 1 in analytic networks, set by the "
                              "network file otherwise"));
}

void add_phase_and_coupler(Keys& keys) {
  const Text p = "imperfections.";
  keys.push_back(choice(p + "preset", Text("ideal"),
                        {"ideal", "lab_best", "foundry_typical", "foundry_worst", "sin"}, {},
                        "named set of imperfections (data/presets) that single keys override; "
                        "ideal: none"));
  keys.push_back(real(p + "phase.fabrication_sigma_rad", 0.0, 0, pi, "rad",
                      "static Gaussian error of every phase"));
  keys.push_back(boolean(p + "phase.on_output_screen", true,
                         "whether the output phase screens have that error too, and drift and "
                         "jitter"));
  keys.push_back(real(p + "phase.correlation_um", 0.0, 0, 1e6, "um",
                      "length over which that error is correlated: exp(-d^2 / (2 length^2))"));
  keys.push_back(
      integer(p + "phase.dac_bits", none, 4, 16, "phases in steps of 2 pi / 2^bits; unset: exact"));
  keys.push_back(real(p + "phase.drift_sigma_rad", none, 0, pi, "rad",
                      "Ornstein-Uhlenbeck drift of every phase: its standard deviation long after "
                      "calibration, where it starts at 0; unset: none"));
  keys.push_back(real(p + "phase.drift_tau_s", none, 1e-12, 1e15, "s", "its correlation time"));
  keys.push_back(real(p + "phase.time_s", none, 0, 1e15, "s", "time since calibration"));
  keys.push_back(real(p + "phase.jitter_sigma_rad", none, 0, pi, "rad",
                      "Gaussian error of every phase, new for every symbol; unset: none"));
  keys.push_back(integer(p + "phase.jitter_realizations", none, 1, 1e6,
                         "realizations of that jitter per chip, which the symbols take in turn; "
                         "unset: 64"));
  keys.push_back(real(p + "coupler.sigma_rad", 0.0, 0, pi / 4, "rad",
                      "static Gaussian splitting-angle error of every coupler"));
  keys.push_back(real(p + "coupler.mean_rad", 0.0, -pi / 4, pi / 4, "rad",
                      "common splitting-angle error (detuning)"));
}

void add_loss_and_crosstalk(Keys& keys) {
  const Text p = "imperfections.";
  keys.push_back(real(p + "loss.mzi_db", 0.0, 0, 100, "dB", "mean loss of an MZI, both modes"));
  keys.push_back(
      real(p + "loss.mzi_sigma_db", 0.0, 0, 100, "dB", "its spread over MZIs; a loss stays >= 0"));
  keys.push_back(real(p + "loss.waveguide_db_per_cm", 0.0, 0, 1000, "dB/cm",
                      "propagation loss over layout.column_pitch_um per column"));
  keys.push_back(real(p + "loss.crossing_db", 0.0, 0, 100, "dB",
                      "loss of a waveguide crossing, both modes (network.mzi = crossing)"));
  keys.push_back(real(p + "loss.facet_db", 0.0, 0, 100, "dB",
                      "coupling loss where light enters and leaves a layer"));
  keys.push_back(choice(p + "loss.placement", Text("mzi_only"), {"mzi_only", "balanced"}, {},
                        "balanced: modes that pass a column without an MZI lose mzi_db too"));
  keys.push_back(choice(p + "crosstalk.thermal.model", none, {"exponential", "table"}, {},
                        "share of a heater's phase that reaches other arms; unset: none"));
  keys.push_back(real(p + "crosstalk.thermal.coefficient", none, 0, 1, "",
                      "exponential: share extrapolated to distance 0; unset: 0.2167"));
  keys.push_back(real(p + "crosstalk.thermal.decay_um", none, 1e-3, 1e6, "um",
                      "exponential: decay length; unset: 7.845"));
  keys.push_back(real(p + "crosstalk.thermal.radius_um", none, 1e-3, 1e6, "um",
                      "largest distance that counts; unset: 60"));
  keys.push_back(file(p + "crosstalk.thermal.table",
                      "table: CSV with distance_um,coupling, linear between its lines"));
  keys.push_back(real(p + "crosstalk.optical_db", none, -200, -1e-3, "dB",
                      "power coupled between adjacent modes that no MZI joins, after each column; "
                      "unset: none"));
}

void add_link(Keys& keys) {
  const Text p = "imperfections.";
  keys.push_back(real(p + "combiner.amplitude_sigma", 0.0, 0, 1, "",
                      "static Gaussian error of the relative amplitude per chip, server and input "
                      "of the network; an amplitude stays >= 0"));
  keys.push_back(real(p + "combiner.phase_sigma_rad", 0.0, 0, pi, "rad",
                      "static Gaussian phase error per chip, server and input of the network"));
  keys.push_back(real(p + "laser.server_phase_sigma_rad", 0.0, 0, pi, "rad",
                      "static Gaussian phase error per chip and server"));
  keys.push_back(real(p + "laser.power_dbm", none, -100, 100, "dBm",
                      "power of the highest level at the modulators behind the last layer; with "
                      "receiver.responsivity_a_w and receiver.bandwidth_ghz switches the noise of "
                      "the receivers on"));
  keys.push_back(real(p + "laser.rin_db_hz", none, -300, -60, "dB/Hz",
                      "relative intensity noise of the sources, over receiver.bandwidth_ghz; new "
                      "for every symbol and layer; unset: none"));
  keys.push_back(real(p + "laser.linewidth_hz", none, 0, 1e12, "Hz",
                      "linewidth of the common source, with laser.path_mismatch_m; unset: none"));
  keys.push_back(real(p + "laser.path_mismatch_m", none, 0, 1e6, "m",
                      "length of fibre by which the path of each server differs: phase noise, new "
                      "for every symbol"));
  keys.push_back(real(p + "transmitter.extinction_ratio_db", none, 0.1, 100, "dB",
                      "power ratio of the outer PAM4 levels; unset: infinite"));
  keys.push_back(
      real(p + "transmitter.rlm", none, 0.01, 1, "",
           "ratio of level mismatch: how far the inner PAM4 levels lie apart; unset: 1"));
  keys.push_back(real(p + "amplifier.noise_sigma", none, 0, 1000, "",
                      "Gaussian noise of every detected output ahead of the gain of its layer, in "
                      "digits, new for every symbol; unset: none"));
  keys.push_back(
      real(p + "splitter.excess_db", none, 0, 100, "dB",
           "loss of the splitter behind the last layer beside its division by the number "
           "of servers; unset: 0"));
  keys.push_back(
      real(p + "receiver.responsivity_a_w", none, 1e-3, 1e3, "A/W", "photodiode responsivity"));
  keys.push_back(
      real(p + "receiver.dark_na", none, 0, 1e9, "nA", "dark current of the photodiode; unset: 0"));
  keys.push_back(real(p + "receiver.thermal_pa_rthz", none, 0, 1e9, "pA/sqrt(Hz)",
                      "input-referred amplifier noise; unset: 0"));
  keys.push_back(real(p + "receiver.bandwidth_ghz", none, 0, 1e6, "GHz",
                      "noise bandwidth of the receiver; 0: no noise"));
  keys.push_back(integer(p + "receiver.adc_bits", none, 1, 16,
                         "receiver's converter: 2^bits steps over the span of the levels and a "
                         "sixth of it beyond either end; unset: exact"));
  keys.push_back(choice("receiver.calibration", Text("affine"), {"none", "gain", "affine"}, {},
                        "what the receiver fits per output on the chip's own codes"));
  keys.push_back(choice("combiner.mode", Text("coherent"), {"coherent", "incoherent"}, {},
                        "combiner adds fields of one source, or detects and remodulates"));
}

void add_detuning_and_ablation(Keys& keys) {
  const Text p = "imperfections.detuning.";
  keys.push_back(real(p + "wavelength_nm", 0.0, -500, 500, "nm", "source minus design wavelength"));
  keys.push_back(
      real(p + "temperature_k", 0.0, -500, 500, "K", "chip minus calibration temperature"));
  keys.push_back(real(p + "center_wavelength_nm", 1550.0, 1100, 2500, "nm", "design wavelength"));
  keys.push_back(real(p + "spectrum_shift_nm_per_k", 0.07, 0, 1, "nm/K",
                      "shift of the waveguides' spectrum with temperature"));
  keys.push_back(real(p + "coupler_rad_per_nm", 0.005, -1, 1, "rad/nm",
                      "change of every splitting angle with wavelength"));
  keys.push_back(integer("ablation.layer", std::int64_t{-1}, -1, 65535,
                         "imperfections act in this layer only, of every unit of a cascade; -1: "
                         "in all"));
  keys.push_back(choice("ablation.meshes", Text("all"), {"all", "input", "output"}, {},
                        "imperfections act in these meshes only: input is V or a block's only "
                        "mesh, output is U"));
}

void add_layout(Keys& keys) {
  struct Length {
    const char* name;
    double MeshLayout::*member;
    const char* meaning;
  };
  for (const auto& [name, member, meaning] :
       {Length{"column_pitch_um", &MeshLayout::column_pitch_um, "distance of mesh columns"},
        Length{"row_pitch_um", &MeshLayout::row_pitch_um, "distance of modes"},
        Length{"arm_spacing_um", &MeshLayout::arm_spacing_um, "distance of the arms of an MZI"},
        Length{"theta_offset_um", &MeshLayout::theta_offset_um,
               "place of the theta heater along its column"},
        Length{"phi_offset_um", &MeshLayout::phi_offset_um,
               "place of the phi heater along its column"}}) {
    keys.push_back(real(Text("layout.") + name, MeshLayout{}.*member, 0, 1e6, "um", meaning));
  }
}

void add_run(Keys& keys) {
  keys.push_back(
      integer("montecarlo.chips", std::int64_t{100}, 1, 4294967295.0, "chips per sweep point"));
  keys.push_back(
      integer("montecarlo.seed", std::int64_t{1}, 0, largest_integer, "key of the random streams"));
  ConfigKey target = choice("montecarlo.target.metric", none, {}, {},
                            "in place of montecarlo.chips: end each sweep point once the 95 % "
                            "interval of this is narrow; a metric (its mean over chips), one with "
                            "_p05, _p50 or _p95 (its quantile), or yield");
  target.type = ConfigType::text;
  keys.push_back(std::move(target));
  keys.push_back(real("montecarlo.target.rel_halfwidth", none, 1e-6, 1e6, "",
                      "half-width that is narrow, relative to the value; one of the two suffices"));
  keys.push_back(real("montecarlo.target.abs_halfwidth", none, 1e-300, 1e300, "",
                      "half-width that is narrow, in the unit of the metric"));
  keys.push_back(integer("montecarlo.min_chips", none, 2, 4294967295.0,
                         "with a target: chips of each point before it may end; unset: 30, or "
                         "max_chips where that is less"));
  keys.push_back(integer("montecarlo.max_chips", none, 2, 4294967295.0,
                         "with a target: chips at which a point ends anyway; unset: 10000"));
  keys.push_back(choice("evaluation", none, {"codes", "sampled", "tuples"}, {},
                        "what a chip is evaluated on: every code that occurs, a sample of the "
                        "elements, or every tuple of values that the servers send; unset: codes, "
                        "or sampled with a cascade, where an imperfection differs between servers "
                        "or sample_elements is given"));
  keys.push_back(integer("sample_elements", none, 2, 4294967295.0,
                         "evaluation sampled: elements, drawn from montecarlo.seed, the same for "
                         "every chip; unset: 65536"));
  keys.push_back(integer("max_codes", std::int64_t{1} << 22, 1, 4294967295.0,
                         "largest number of different codes or tuples that are kept; more are an "
                         "error"));
  keys.push_back(boolean("report.uniform_codes", false,
                         "also evaluate every code of the alphabet (max_codes random ones where it "
                         "is larger; of a cascade max_codes random tuples of level-1 codes), for "
                         "uniform_element_error_rate"));
  keys.push_back(real("report.yield_limit", 1e-3, 0, 1, "",
                      "a chip counts towards the yield when its element error rate is below"));
}

Keys make_keys() {
  Keys keys;
  add_workload(keys);
  add_network(keys);
  add_phase_and_coupler(keys);
  add_loss_and_crosstalk(keys);
  add_link(keys);
  add_detuning_and_ablation(keys);
  add_layout(keys);
  add_run(keys);
  return keys;
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = make_keys();
  return keys;
}

const ConfigKey* find_config_key(const std::vector<ConfigKey>& keys, std::string_view path) {
  const auto found = std::find_if(keys.begin(), keys.end(),
                                  [&](const ConfigKey& key) { return key.path == path; });
  return found == keys.end() ? nullptr : &*found;
}

const ConfigKey* find_config_key(std::string_view path) {
  return find_config_key(config_keys(), path);
}

std::string nearest_config_path(const std::vector<ConfigKey>& keys, std::string_view path) {
  const std::string ending = fmt::format(".{}", path);
  std::vector<std::string> paths;
  for (const ConfigKey& key : keys) {
    if (std::string_view(key.path).ends_with(ending)) return key.path;
    paths.push_back(key.path);
  }
  return nearest_name(path, paths);
}

std::string nearest_config_path(std::string_view path) {
  return nearest_config_path(config_keys(), path);
}

}  // namespace optinc
