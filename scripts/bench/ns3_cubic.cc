// TcpCubic flows over a bottleneck: the peer of Airlane's bulk scenes.
//
// Sender and receiver are joined by one point-to-point link. The bottleneck's queue is the
// sender's device queue, first in first out, limited in bytes, with nothing above it: no queue
// discipline and no second queue. Two nodes and not a dumbbell, for each hop more costs ns-3 time.
// But a node finds the socket of a packet by a scan over all of its own, so with `--pairs=G` the
// `--flows=N` are spread over G senders and G receivers, with a router at each end of the
// bottleneck. All flows start at once, each with a port, a sender and a sink of its own.
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
#include <vector>

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

// The hosts of one side, and their addresses.
struct Hosts {
    NodeContainer nodes;
    std::vector<Ipv4Address> addresses;
};

// Hosts behind `router`, by links so fast that nothing waits there. They have 10.`side`.*.*, and
// what is for 10.`other`.*.* goes over the bottleneck to `next`.
Hosts Behind(Ptr<Node> router, uint32_t number, uint32_t side, Ipv4Address next, uint32_t other) {
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", DataRateValue(DataRate("100Gbps")));
    access.SetChannelAttribute("Delay", TimeValue(Seconds(0)));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
    access.DisableFlowControl();
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    Ipv4StaticRoutingHelper routing;
    Hosts hosts;
    hosts.nodes.Create(number);
    stack.Install(hosts.nodes);
    for (uint32_t i = 0; i < number; ++i) {
        Ptr<Node> host = hosts.nodes.Get(i);
        Ipv4AddressHelper addresses;
        addresses.SetBase(Ipv4Address(10u << 24 | side << 16 | i << 8), "255.255.255.0");
        const auto at = addresses.Assign(access.Install(router, host));
        hosts.addresses.push_back(at.GetAddress(1));
        routing.GetStaticRouting(host->GetObject<Ipv4>())->SetDefaultRoute(at.GetAddress(0), 1);
    }
    // The bottleneck is the router's first interface after the loopback.
    routing.GetStaticRouting(router->GetObject<Ipv4>())
        ->AddNetworkRouteTo(Ipv4Address(10u << 24 | other << 16), "255.255.0.0", next, 1);
    return hosts;
}

}  // namespace

int main(int argc, char* argv[]) {
    double rate_bps = 50e6;
    double rtt_s = 0.02;
    double limit_bdp = 1.5;
    double duration_s = 60.0;
    uint32_t ip_bytes = 1378;
    uint32_t flows = 1;
    uint32_t pairs = 0;
    bool hystart = true;
    bool count = false;
    std::string recovery = "ns3::TcpClassicRecovery";
    CommandLine cmd;
    cmd.AddValue("rate", "IP bits per second of the bottleneck", rate_bps);
    cmd.AddValue("rtt", "round trip in seconds", rtt_s);
    cmd.AddValue("bdp", "queue in bandwidth-delay products", limit_bdp);
    cmd.AddValue("duration", "seconds", duration_s);
    cmd.AddValue("ip", "bytes of a full IP packet", ip_bytes);
    cmd.AddValue("flows", "flows that share the bottleneck", flows);
    cmd.AddValue("pairs", "pairs of hosts behind routers; 0: one pair, and no routers", pairs);
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
    // Never what limits a flow: one of many has some 16 KiB in flight. Filling more costs time.
    const uint32_t buffer = flows == 1 ? 8u << 20 : 256u << 10;

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TypeId::LookupByName(recovery)));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(hystart));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));

    // The ends of the bottleneck: the hosts, or else the routers before them.
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

    Hosts senders{NodeContainer(nodes.Get(0)), {at.GetAddress(0)}};
    Hosts receivers{NodeContainer(nodes.Get(1)), {at.GetAddress(1)}};
    if (pairs > 0) {
        senders = Behind(nodes.Get(0), pairs, 1, at.GetAddress(1), 2);
        receivers = Behind(nodes.Get(1), pairs, 2, at.GetAddress(0), 1);
    }

    ApplicationContainer sinks;
    for (uint32_t flow = 0; flow < flows; ++flow) {
        const uint32_t pair = flow % receivers.nodes.GetN();
        const uint16_t port = uint16_t(443 + flow);
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.Add(sink.Install(receivers.nodes.Get(pair)));
        BulkSendHelper bulk("ns3::TcpSocketFactory",
                            InetSocketAddress(receivers.addresses[pair], port));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.SetAttribute("SendSize", UintegerValue(segment));
        bulk.Install(senders.nodes.Get(pair)).Start(Seconds(0));
    }
    sinks.Start(Seconds(0));

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
    uint64_t received = 0;
    for (uint32_t i = 0; i < sinks.GetN(); ++i) {
        received += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    }
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
