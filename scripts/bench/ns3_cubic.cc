// One TcpCubic flow over a bottleneck: the peer of Airlane's bulk scene.
//
// Sender and receiver are joined by one point-to-point link. The bottleneck's queue is the
// sender's device queue, first in first out, limited in bytes, with nothing above it: no queue
// discipline and no second queue. Two nodes and not a dumbbell, for each hop more costs ns-3 time.
// Initial window 10, SACK, an acknowledgement for every second segment, buffers of 8 MiB, HyStart.
// Recovery is ns-3's "classic" one, the window's cut as RFC 5681 and RFC 9002 have it: the
// proportional one of ns-3 3.44 sends into the full queue when it begins, loses that too and cuts
// twice for one overflow.
//
// Prints one line of JSON. The clocks cover Simulator::Run alone. `--count=1` watches the queue
// and the packets; without it nothing is traced, and that is the run to time.

#include <chrono>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <string>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

namespace {

// Time integral of the bytes that wait, the packet being sent not counted.
struct Level {
    Time last;
    double value = 0.0;
    double integral = 0.0;

    void Set(double next) {
        const Time now = Simulator::Now();
        integral += value * (now - last).GetSeconds();
        last = now;
        value = next;
    }
};

Level g_bytes;
Level g_packets;
uint64_t g_data = 0;
uint64_t g_acks = 0;
uint64_t g_drops = 0;

void OnBytes(uint32_t, uint32_t now) { g_bytes.Set(now); }
void OnPackets(uint32_t, uint32_t now) { g_packets.Set(now); }
void OnData(Ptr<const Packet>) { ++g_data; }
void OnAck(Ptr<const Packet>) { ++g_acks; }
void OnDrop(Ptr<const Packet>) { ++g_drops; }

}  // namespace

int main(int argc, char* argv[]) {
    double rate_bps = 50e6;
    double rtt_s = 0.02;
    double limit_bdp = 1.5;
    double duration_s = 60.0;
    uint32_t ip_bytes = 1378;
    bool hystart = true;
    bool count = false;
    std::string recovery = "ns3::TcpClassicRecovery";
    CommandLine cmd;
    cmd.AddValue("rate", "IP bits per second of the bottleneck", rate_bps);
    cmd.AddValue("rtt", "round trip in seconds", rtt_s);
    cmd.AddValue("bdp", "queue in bandwidth-delay products", limit_bdp);
    cmd.AddValue("duration", "seconds", duration_s);
    cmd.AddValue("ip", "bytes of a full IP packet", ip_bytes);
    cmd.AddValue("hystart", "HyStart", hystart);
    cmd.AddValue("recovery", "TypeId of the loss recovery", recovery);
    cmd.AddValue("count", "watch queue and packets", count);
    cmd.Parse(argc, argv);

    // The device queue and the wire carry two bytes of PPP with each packet.
    const uint32_t ppp = 2;
    const double wire = double(ip_bytes + ppp) / ip_bytes;
    const uint32_t limit = uint32_t(rate_bps / 8 * rtt_s * limit_bdp * wire);
    // 20 bytes of IP, 20 of TCP, 12 of timestamps.
    const uint32_t segment = ip_bytes - 52;

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TypeId::LookupByName(recovery)));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(hystart));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(8u << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(8u << 20));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(rate_bps * wire))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(rtt_s / 2)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::BYTES, limit)));
    // Without flow control a full device queue drops, as the queue of a router does, and the
    // address helper puts no queue discipline above it.
    link.DisableFlowControl();
    NetDeviceContainer devices = link.Install(nodes);
    // The way back is never the bottleneck: the queue above is ample for it, the rate is high.
    devices.Get(1)->SetAttribute("DataRate", DataRateValue(DataRate("1Gbps")));

    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer at = addresses.Assign(devices);

    const uint16_t port = 443;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer sinks = sink.Install(nodes.Get(1));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(at.GetAddress(1), port));
    bulk.SetAttribute("MaxBytes", UintegerValue(0));
    bulk.SetAttribute("SendSize", UintegerValue(segment));
    ApplicationContainer senders = bulk.Install(nodes.Get(0));
    sinks.Start(Seconds(0));
    senders.Start(Seconds(0));

    if (count) {
        auto sender = DynamicCast<PointToPointNetDevice>(devices.Get(0));
        auto receiver = DynamicCast<PointToPointNetDevice>(devices.Get(1));
        auto queue = sender->GetQueue();
        queue->TraceConnectWithoutContext("BytesInQueue", MakeCallback(&OnBytes));
        queue->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&OnPackets));
        queue->TraceConnectWithoutContext("Drop", MakeCallback(&OnDrop));
        receiver->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&OnData));
        sender->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&OnAck));
    }

    Simulator::Stop(Seconds(duration_s));
    const std::clock_t cpu = std::clock();
    const auto start = std::chrono::steady_clock::now();
    Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    const double cpu_s = double(std::clock() - cpu) / CLOCKS_PER_SEC;
    const uint64_t received = DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx();
    g_bytes.Set(0.0);
    g_packets.Set(0.0);
    std::cout << "{\"goodput_bps\": " << std::fixed << received * 8 / duration_s
              << ", \"received_bytes\": " << received << ", \"wall_s\": " << wall.count() << ", \"cpu_s\": " << cpu_s
              << ", \"events\": " << Simulator::GetEventCount();
    if (count) {
        std::cout << ", \"mean_queue_bytes\": " << g_bytes.integral / duration_s / wire
                  << ", \"mean_queue_packets\": " << g_packets.integral / duration_s
                  << ", \"data_packets\": " << g_data << ", \"ack_packets\": " << g_acks
                  << ", \"dropped_packets\": " << g_drops;
    }
    std::cout << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
