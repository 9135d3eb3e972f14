// One access point and its stations on one channel: the peer of Airlane's medium of 802.11.
//
// Scenes: `--traffic=udp` keeps the queues of `--down` stations at the access point and of `--up` stations
// full; a station is either the one or the other. Packets go from MAC to MAC (packet sockets: no IP stack,
// which only costs ns-3 time); each that is acknowledged or given up is replaced at once. `--traffic=tcp` has
// a TCP Cubic flow for each of them from or to a server behind the access point, `--rtt` away, with one
// drop-tail queue of `--queue` packets at the access point and one at each station. A receiver acknowledges
// every `--acks` segments, or what came after 200 ms.
//
// As Airlane's medium has it: best effort (AIFSN 3, windows 15 to 1023, one exchange per opportunity), no
// encryption, no A-MSDU, no request for a block acknowledgement, responses at the highest of 6, 12 and 24
// Mbit/s that is not above the data, PPDUs of up to 5.484 ms. Stations are at `--snr` dB over the channel's
// width, the last `--far` of them at `--far-snr`; with `--hidden=1` they do not hear each other. With `--loss`
// the SNR is that at which ns-3's error model (table-based) loses that share of frames.
//
// Prints one line of JSON: IP bits/s of every station from `--warmup` on, for `--seconds`, and what the run
// took. The clocks cover Simulator::Run from the end of the warm-up.

#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/propagation-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

using namespace ns3;

namespace {

constexpr double kPowerDbm = 20.0;
constexpr double kNoiseFigureDb = 7.0;
// When traffic begins, seconds: before, stations find their access point.
constexpr double kStart = 5.0;
constexpr uint16_t kProtocol = 0x0800;

// Noise over a width, dBm: what ns-3's InterferenceHelper has.
double NoiseDbm(double mhz) {
    return 10.0 * std::log10(1.3803e-23 * 290.0 * mhz * 1e6 * 1e3) + kNoiseFigureDb;
}

// A saturated way: a sender's device, the address it sends to, and what came.
struct Way {
    Ptr<WifiNetDevice> from;
    Address to;
    uint64_t bytes = 0;
    uint64_t packets = 0;
};

std::vector<Way> g_ways;
// Ways by receiver at senders: by the address of the receiver and that of the sender.
std::map<std::pair<Mac48Address, Mac48Address>, size_t> g_of;
uint32_t g_ip_bytes = 1500;
bool g_counts = false;
uint64_t g_exchanges = 0;

void Send(size_t way) {
    g_ways[way].from->Send(Create<Packet>(g_ip_bytes), g_ways[way].to, kProtocol);
}

// A frame of a saturated way is done: the next takes its place.
void Done(Ptr<const WifiMpdu> mpdu) {
    const auto& header = mpdu->GetHeader();
    if (!header.IsQosData()) {
        return;
    }
    const auto found = g_of.find({header.GetAddr1(), header.GetAddr2()});
    if (found != g_of.end()) {
        Simulator::ScheduleNow(&Send, found->second);
    }
}

void Acked(Ptr<const WifiMpdu> mpdu) { Done(mpdu); }
void Dropped(WifiMacDropReason, Ptr<const WifiMpdu> mpdu) { Done(mpdu); }

bool Receive(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t, const Address& from) {
    const auto to = Mac48Address::ConvertFrom(device->GetAddress());
    const auto found = g_of.find({to, Mac48Address::ConvertFrom(from)});
    if (g_counts && found != g_of.end()) {
        g_ways[found->second].bytes += packet->GetSize();
        ++g_ways[found->second].packets;
    }
    return true;
}

void CountExchanges(std::string, Ptr<const Packet>, Watt_u) { g_exchanges += g_counts; }

void Trace(std::string context, Ptr<const Packet>, uint16_t, WifiTxVector vector, MpduInfo info, uint16_t) {
    if (g_counts) {
        std::cerr << Simulator::Now().GetNanoSeconds() << " " << context << " " << vector.GetMode() << " "
                  << vector.GetChannelWidth() << " " << vector.IsLdpc() << " " << info.type << "\n";
    }
}

std::chrono::steady_clock::time_point g_start;
std::clock_t g_cpu;
void Begin() {
    g_counts = true;
    g_start = std::chrono::steady_clock::now();
    g_cpu = std::clock();
}

// Fixed rates: one for all, another to those that are far.
class FixedRates : public ConstantRateWifiManager {
  public:
    static TypeId GetTypeId() {
        static TypeId id = TypeId("FixedRates").SetParent<ConstantRateWifiManager>().AddConstructor<FixedRates>();
        return id;
    }
    static inline std::string near_mode, far_mode;
    static inline uint8_t streams = 1;
    static inline std::set<Mac48Address> far;

  private:
    WifiTxVector DoGetDataTxVector(WifiRemoteStation* station, MHz_u width) override {
        const WifiMode mode(far.count(station->m_state->m_address) ? far_mode : near_mode);
        return WifiTxVector(mode, GetDefaultTxPowerLevel(),
                            GetPreambleForTransmission(mode.GetModulationClass(), GetShortPreambleEnabled()),
                            GetGuardIntervalForMode(mode, GetPhy()->GetDevice()), GetNumberOfAntennas(), streams,
                            0, GetPhy()->GetTxBandwidth(mode, width), GetAggregation(station));
    }
};
NS_OBJECT_ENSURE_REGISTERED(FixedRates);

// The SNR at which ns-3 with its table-based model loses a share of frames of so many bytes. Of several
// streams it gives that model the bits of one alone.
double SnrFor(const WifiTxVector& vector, uint32_t bytes, double loss) {
    auto model = CreateObject<TableBasedErrorRateModel>();
    double low = -20.0, high = 60.0;
    while (high - low > 1e-3) {
        const double middle = (low + high) / 2;
        const double success =
            model->GetChunkSuccessRate(vector.GetMode(), vector, std::pow(10.0, middle / 10), 8 * bytes / vector.GetNss());
        (success < 1 - loss ? low : high) = middle;
    }
    return high;
}

}  // namespace

int main(int argc, char* argv[]) {
    std::string standard = "ax", traffic = "udp";
    uint32_t width = 80, mcs = 11, streams = 2, guard_ns = 800, window = 64, down = 0, up = 0, far = 0;
    uint32_t retries = 7, queue = 1000, acks = 2, seed = 1, segment_ip = 1500;
    double snr = 50.0, far_snr = 15.0, others = 40.0, loss = 0.0, seconds = 2.0, warmup = 1.0, rtt_s = 0.02;
    uint32_t far_mcs = 0;
    bool rts = false, hidden = false, detection = true, trace = false;
    CommandLine cmd;
    cmd.AddValue("standard", "a, n, ac or ax", standard);
    cmd.AddValue("width", "MHz", width);
    cmd.AddValue("mcs", "MCS; of 802.11a the place of the rate among its eight", mcs);
    cmd.AddValue("streams", "spatial streams", streams);
    cmd.AddValue("guard", "guard interval, ns", guard_ns);
    cmd.AddValue("window", "frames of a block-ack window; 1: no aggregation", window);
    cmd.AddValue("down", "stations that are sent to", down);
    cmd.AddValue("up", "stations that send", up);
    cmd.AddValue("far", "how many of the last stations are far", far);
    cmd.AddValue("snr", "dB", snr);
    cmd.AddValue("far-snr", "dB", far_snr);
    cmd.AddValue("far-mcs", "MCS of the far ones", far_mcs);
    cmd.AddValue("others", "dB between stations", others);
    cmd.AddValue("loss", "share of frames lost, in place of the SNR", loss);
    cmd.AddValue("retries", "attempts after the first", retries);
    cmd.AddValue("rts", "RTS and CTS", rts);
    cmd.AddValue("hidden", "stations do not hear each other", hidden);
    cmd.AddValue("detection", "the model of preamble detection", detection);
    cmd.AddValue("traffic", "udp or tcp", traffic);
    cmd.AddValue("queue", "packets of a queue of TCP", queue);
    cmd.AddValue("acks", "segments for each acknowledgement of TCP", acks);
    cmd.AddValue("rtt", "seconds", rtt_s);
    cmd.AddValue("ip", "bytes of an IP packet", segment_ip);
    cmd.AddValue("seconds", "measured", seconds);
    cmd.AddValue("warmup", "seconds of traffic before", warmup);
    cmd.AddValue("seed", "of random numbers", seed);
    cmd.AddValue("trace", "write transmissions to the standard error", trace);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(seed);
    const bool tcp = traffic == "tcp";
    g_ip_bytes = segment_ip;

    const bool aggregates = standard != "a" && window > 1;
    Config::SetDefault("ns3::WifiMac::FrameRetryLimit", UintegerValue(retries + 1));
    Config::SetDefault("ns3::WifiMac::MpduBufferSize", UintegerValue(std::min(std::max(window, 1u), 1024u)));
    Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(false));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(rts ? 0 : 4692480));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1000)));
    const uint32_t in_queue = 2 * window + 100;
    const uint32_t limit = tcp ? queue : in_queue * (down + up + 1) + 100;
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, limit)));

    const uint32_t number = down + up;
    NodeContainer ap, stations;
    ap.Create(1);
    stations.Create(number);
    NodeContainer all(ap, stations);
    MobilityHelper mobility;
    auto places = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < all.GetN(); ++i) {
        places->Add(Vector(0.0, 0.0, 0.0));
    }
    mobility.SetPositionAllocator(places);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(all);

    const bool he = standard == "ax", vht = standard == "ac", ht = standard == "n";
    auto mode = [&](uint32_t mcs) {
        if (standard == "a") {
            constexpr uint32_t rates[] = {6, 9, 12, 18, 24, 36, 48, 54};
            return "OfdmRate" + std::to_string(rates[mcs]) + "Mbps";
        }
        if (ht) {
            return "HtMcs" + std::to_string(mcs + 8 * (streams - 1));
        }
        return (he ? "HeMcs" : "VhtMcs") + std::to_string(mcs);
    };
    // The convolutional code: ns-3 3.44 negotiates LDPC for HE, but its HE-SIG does not carry it, so that its
    // receivers take the convolutional code's curves (and, for MCS 10 and 11, which have none, YANS's).
    auto vector = [&](uint32_t mcs, uint32_t nss) {
        WifiTxVector v;
        v.SetMode(WifiMode(mode(mcs)));
        v.SetChannelWidth(width);
        v.SetNss(nss);
        v.SetGuardInterval(NanoSeconds(guard_ns));
        v.SetPreambleType(he ? WIFI_PREAMBLE_HE_SU : vht ? WIFI_PREAMBLE_VHT_SU
                          : ht ? WIFI_PREAMBLE_HT_MF : WIFI_PREAMBLE_LONG);
        v.SetLdpc(false);
        return v;
    };
    if (loss > 0) {
        snr = SnrFor(vector(mcs, streams), g_ip_bytes + 38, loss);
    }

    auto matrix = CreateObject<MatrixPropagationLossModel>();
    matrix->SetDefaultLoss(hidden ? 300.0 : kPowerDbm - (NoiseDbm(width) + others));
    for (uint32_t i = 0; i < number; ++i) {
        const double db = i + far >= number ? far_snr : snr;
        matrix->SetLoss(ap.Get(0)->GetObject<MobilityModel>(), stations.Get(i)->GetObject<MobilityModel>(),
                        kPowerDbm - (NoiseDbm(width) + db));
    }
    auto channel = CreateObject<YansWifiChannel>();
    channel->SetPropagationLossModel(matrix);
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    phy.SetErrorRateModel("ns3::TableBasedErrorRateModel");
    if (!detection) {
        phy.DisablePreambleDetectionModel();
    }
    phy.Set("TxPowerStart", DoubleValue(kPowerDbm));
    phy.Set("TxPowerEnd", DoubleValue(kPowerDbm));
    phy.Set("RxNoiseFigure", DoubleValue(kNoiseFigureDb));
    const std::string where = width == 20 ? "{36, 20, BAND_5GHZ, 0}" : width == 40 ? "{38, 40, BAND_5GHZ, 0}"
                              : width == 80 ? "{42, 80, BAND_5GHZ, 0}" : "{50, 160, BAND_5GHZ, 0}";
    phy.Set("ChannelSettings", StringValue(where));
    phy.Set("Antennas", UintegerValue(streams));
    phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(streams));
    phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(streams));

    WifiHelper wifi;
    wifi.SetStandard(he ? WIFI_STANDARD_80211ax : vht ? WIFI_STANDARD_80211ac
                     : ht ? WIFI_STANDARD_80211n : WIFI_STANDARD_80211a);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(mode(mcs)),
                                 "ControlMode", StringValue("OfdmRate24Mbps"));
    WifiMacHelper mac;
    const Ssid ssid("a");
    // The longest A-MPDU of each format.
    const uint32_t ampdu = !aggregates ? 0 : he ? 6500631 : vht ? 1048575 : 65535;
    auto common = [&](const std::string& type) {
        mac.SetType(type, "QosSupported", BooleanValue(true), "Ssid", SsidValue(ssid));
    };
    common("ns3::StaWifiMac");
    NetDeviceContainer station_devices = wifi.Install(phy, mac, stations);
    for (uint32_t i = number - far; i < number; ++i) {
        auto device = DynamicCast<WifiNetDevice>(station_devices.Get(i));
        device->GetRemoteStationManager()->SetAttribute("DataMode", StringValue(mode(far_mcs)));
        FixedRates::far.insert(Mac48Address::ConvertFrom(device->GetAddress()));
    }
    FixedRates::near_mode = mode(mcs);
    FixedRates::far_mode = mode(far_mcs);
    FixedRates::streams = streams;
    if (far > 0) {
        wifi.SetRemoteStationManager("FixedRates", "ControlMode", StringValue("OfdmRate24Mbps"));
    }
    common("ns3::ApWifiMac");
    NetDeviceContainer ap_device = wifi.Install(phy, mac, ap);
    NetDeviceContainer devices(ap_device, station_devices);
    for (uint32_t i = 0; i < devices.GetN(); ++i) {
        auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        auto own = device->GetMac();
        own->SetAttribute("BE_MaxAmpduSize", UintegerValue(ampdu));
        own->SetAttribute("BE_MaxAmsduSize", UintegerValue(0));
        auto txop = own->GetQosTxop(AC_BE);
        txop->SetMinCw(15);
        txop->SetMaxCw(1023);
        txop->SetAifsn(3);
        txop->SetTxopLimit(Seconds(0));
        if (auto config = device->GetHtConfiguration()) {
            config->SetAttribute("LdpcSupported", BooleanValue(he));
            if (guard_ns == 400) {
                config->SetAttribute("ShortGuardIntervalSupported", BooleanValue(true));
            }
        }
        if (auto config = device->GetHeConfiguration()) {
            config->SetAttribute("GuardInterval", TimeValue(NanoSeconds(guard_ns)));
        }
        auto manager = device->GetRemoteStationManager();
        for (auto rate : {"OfdmRate6Mbps", "OfdmRate12Mbps", "OfdmRate24Mbps"}) {
            manager->AddBasicMode(WifiMode(rate));
        }
    }
    // Stations find their access point by its beacons; later these only take air that ours has not.
    auto access_mac = DynamicCast<WifiNetDevice>(ap_device.Get(0))->GetMac();
    Simulator::Schedule(Seconds(kStart - 0.6), [access_mac, &station_devices] {
        for (uint32_t i = 0; i < station_devices.GetN(); ++i) {
            auto station = DynamicCast<WifiNetDevice>(station_devices.Get(i))->GetMac();
            NS_ABORT_MSG_UNLESS(DynamicCast<StaWifiMac>(station)->IsAssociated(), "a station is not associated");
        }
        access_mac->SetAttribute("BeaconInterval", TimeValue(MicroSeconds(10240000)));
    });
    WifiHelper::AssignStreams(devices, 100);

    // A station is the way's end; the first `down` are sent to.
    std::vector<Ptr<PacketSink>> sinks;
    std::vector<uint64_t> before(number, 0);
    if (!tcp) {
        for (uint32_t i = 0; i < number; ++i) {
            auto station = DynamicCast<WifiNetDevice>(station_devices.Get(i));
            auto access = DynamicCast<WifiNetDevice>(ap_device.Get(0));
            auto from = i < down ? access : station, to = i < down ? station : access;
            g_of[{Mac48Address::ConvertFrom(to->GetAddress()), Mac48Address::ConvertFrom(from->GetAddress())}] = i;
            g_ways.push_back({from, to->GetAddress()});
        }
        for (uint32_t i = 0; i < devices.GetN(); ++i) {
            auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
            device->SetReceiveCallback(MakeCallback(&Receive));
            device->GetMac()->TraceConnectWithoutContext("AckedMpdu", MakeCallback(&Acked));
            device->GetMac()->TraceConnectWithoutContext("DroppedMpdu", MakeCallback(&Dropped));
        }
        for (uint32_t i = 0; i < number; ++i) {
            // One packet first: it sets the block-ack agreement up while the air is quiet.
            Simulator::Schedule(Seconds(kStart - 0.5 + 0.01 * i), &Send, i);
            for (uint32_t k = 1; k < in_queue; ++k) {
                Simulator::Schedule(Seconds(kStart), &Send, i);
            }
        }
    } else {
        NodeContainer server;
        server.Create(1);
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate("10Gbps")));
        link.SetChannelAttribute("Delay", TimeValue(Seconds(rtt_s / 2)));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
        link.DisableFlowControl();
        NetDeviceContainer wire = link.Install(server.Get(0), ap.Get(0));
        const uint32_t segment = segment_ip - 52;
        Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
        Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(8u << 20));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(8u << 20));
        Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
        Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(acks));
        InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.Install(all);
        stack.Install(server);
        Ipv4AddressHelper addresses;
        addresses.SetBase("10.1.0.0", "255.255.255.0");
        Ipv4InterfaceContainer at = addresses.Assign(wire);
        addresses.SetBase("10.2.0.0", "255.255.255.0");
        Ipv4InterfaceContainer air = addresses.Assign(devices);
        // The queue is the device's, without a discipline above it.
        TrafficControlHelper control;
        control.Uninstall(devices);
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
        NeighborCacheHelper neighbours;
        neighbours.PopulateNeighborCache();
        for (uint32_t i = 0; i < number; ++i) {
            const uint16_t port = 5000 + i;
            const bool is_down = i < down;
            Ptr<Node> from = is_down ? server.Get(0) : stations.Get(i);
            Ptr<Node> to = is_down ? stations.Get(i) : server.Get(0);
            Ipv4Address address = is_down ? air.GetAddress(1 + i) : at.GetAddress(0);
            PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
            auto installed = sink.Install(to);
            installed.Start(Seconds(0));
            sinks.push_back(DynamicCast<PacketSink>(installed.Get(0)));
            BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(address, port));
            bulk.SetAttribute("MaxBytes", UintegerValue(0));
            bulk.SetAttribute("SendSize", UintegerValue(segment));
            bulk.Install(from).Start(Seconds(kStart));
        }
        Simulator::Schedule(Seconds(kStart + warmup), [&] {
            for (uint32_t i = 0; i < number; ++i) {
                before[i] = sinks[i]->GetTotalRx();
            }
        });
    }
    Config::Connect("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/Phys/0/PhyTxBegin",
                    MakeCallback(&CountExchanges));
    if (trace) {
        Config::Connect("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/Phys/0/MonitorSnifferTx",
                        MakeCallback(&Trace));
    }

    Simulator::Schedule(Seconds(kStart + warmup), &Begin);
    Simulator::Stop(Seconds(kStart + warmup + seconds));
    Simulator::Run();
    const double cpu_s = double(std::clock() - g_cpu) / CLOCKS_PER_SEC;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - g_start;
    double total = 0.0;
    uint64_t packets = 0;
    std::cout << std::fixed << "{\"bps\": [";
    for (uint32_t i = 0; i < number; ++i) {
        const uint64_t bytes = tcp ? sinks[i]->GetTotalRx() - before[i] : g_ways[i].bytes;
        packets += tcp ? bytes / (segment_ip - 52) : g_ways[i].packets;
        total += bytes * 8 / seconds;
        std::cout << (i ? ", " : "") << bytes * 8 / seconds;
    }
    std::cout << "], \"total_bps\": " << total << ", \"packets\": " << packets << ", \"ppdus\": " << g_exchanges
              << ", \"snr_db\": " << snr << ", \"wall_s\": " << wall.count() << ", \"cpu_s\": " << cpu_s << "}"
              << std::endl;
    Simulator::Destroy();
    return 0;
}
