-- Wireshark 4.0 or newer: the Octopus header, version 1, as docs/reference/wire/octopus.md has it.
--
--   wireshark -X lua_script:octopus.lua -r capture.pcap

local HEADER_BYTES = 12
local VERSION = 1

local octopus = Proto("octopus", "Octopus Header")
local data = Dissector.get("data")
local quic = Dissector.get("quic")

local f = {
  version = ProtoField.uint8("octopus.version", "Version", base.DEC, nil, 0xfc),
  first = ProtoField.bool("octopus.first", "First packet of the message", 8, nil, 0x02),
  last = ProtoField.bool("octopus.last", "Last packet of the message", 8, nil, 0x01),
  priority = ProtoField.uint8("octopus.priority", "Priority", base.DEC, nil, 0xe0),
  threshold = ProtoField.uint8("octopus.threshold", "Threshold", base.DEC, nil, 0x1c),
  dropper = ProtoField.bool("octopus.dropper", "Dropper", 8, nil, 0x02),
  reserved = ProtoField.uint16("octopus.reserved", "Reserved", base.HEX, nil, 0x01e0),
  slack = ProtoField.uint32("octopus.slack", "Slack", base.UNIT_STRING, { " ms" }, 0x1ff00000),
  bitrate = ProtoField.uint32("octopus.bitrate", "Bitrate", base.UNIT_STRING, { " kbit/s" },
    0x000fffff),
  stream = ProtoField.uint16("octopus.stream", "Stream"),
  message = ProtoField.uint32("octopus.message", "Message"),
  sealed = ProtoField.uint32("octopus.sealed", "Sealed payload", base.UNIT_STRING,
    { " byte", " bytes" }),
}
octopus.fields = f

local e = {
  version = ProtoExpert.new("octopus.version.unknown", "Unknown version: not dissected",
    expert.group.UNDECODED, expert.severity.WARN),
  reserved = ProtoExpert.new("octopus.reserved.set", "Reserved bits are not zero",
    expert.group.PROTOCOL, expert.severity.NOTE),
  threshold = ProtoExpert.new("octopus.threshold.unused",
    "Threshold without dropper: it means nothing", expert.group.PROTOCOL, expert.severity.NOTE),
}
octopus.experts = e

-- First bytes by RFC 9443: 4 to 15 belong to none of the protocols that share a port with QUIC.
local function is_ours(tvb)
  if tvb:len() < HEADER_BYTES then return false end
  local first = tvb(0, 1):uint()
  return first >= 4 and first <= 15
end

local function is_quic(tvb)
  if tvb:len() == 0 then return false end
  local first = tvb(0, 1):uint()
  return first >= 64 and first <= 127 or first >= 192
end

local function dissect(tvb, pinfo, tree)
  pinfo.cols.protocol = "Octopus"
  local version = tvb(0, 1):bitfield(0, 6)
  if version ~= VERSION then
    pinfo.cols.info = string.format("Version %d, unknown", version)
    local branch = tree:add(octopus, tvb())
    branch:add(f.version, tvb(0, 1)):add_proto_expert_info(e.version)
    return
  end

  local first, last = tvb(0, 1):bitfield(6) == 1, tvb(0, 1):bitfield(7) == 1
  local priority, threshold = tvb(1, 1):bitfield(0, 3), tvb(1, 1):bitfield(3, 3)
  local dropper = tvb(1, 1):bitfield(6) == 1
  local slack, bitrate = tvb(2, 4):bitfield(3, 9), tvb(2, 4):bitfield(12, 20)
  local stream, message = tvb(6, 2):uint(), tvb(8, 4):uint()
  -- Of the packet as it was sent: a capture may have kept less.
  local sealed = tvb:reported_len() - HEADER_BYTES

  local branch = tree:add(octopus, tvb(0, HEADER_BYTES))
  branch:append_text(string.format(", stream %d, message %d", stream, message))
  branch:add(f.version, tvb(0, 1))
  branch:add(f.first, tvb(0, 1))
  branch:add(f.last, tvb(0, 1))
  local item = branch:add(f.priority, tvb(1, 1))
  if priority == 0 then item:append_text(" (no message drops it)") end
  item = branch:add(f.threshold, tvb(1, 1))
  if not dropper and threshold ~= 0 then
    item:add_proto_expert_info(e.threshold)
  elseif dropper and threshold == 0 then
    item:append_text(" (as 1)")
  end
  branch:add(f.dropper, tvb(1, 1))
  -- Bits 15 to 18: the last of byte 1 and the first three of byte 2.
  item = branch:add(f.reserved, tvb(1, 2))
  if tvb(1, 2):bitfield(7, 4) ~= 0 then item:add_proto_expert_info(e.reserved) end
  branch:add(f.slack, tvb(2, 4))
  item = branch:add(f.bitrate, tvb(2, 4))
  if bitrate == 0 then item:append_text(" (not dropped for its bitrate)") end
  branch:add(f.stream, tvb(6, 2))
  branch:add(f.message, tvb(8, 4))

  local info = { string.format("Stream %d, message %d", stream, message) }
  if first and last then
    info[1] = info[1] .. " (whole)"
  elseif first or last then
    info[1] = info[1] .. (first and " (first)" or " (last)")
  end
  if priority ~= 0 then info[#info + 1] = string.format("priority %d", priority) end
  if dropper then
    info[#info + 1] = string.format("drops priority %d and above", math.max(threshold, 1))
  end
  if bitrate ~= 0 then info[#info + 1] = string.format("needs %d kbit/s", bitrate) end
  if slack ~= 0 then info[#info + 1] = string.format("slack %d ms", slack) end
  info[#info + 1] = string.format("%d bytes sealed", sealed)
  pinfo.cols.info = table.concat(info, ", ")

  if tvb:len() > HEADER_BYTES then
    branch:add(f.sealed, tvb(HEADER_BYTES), sealed)
    data:call(tvb(HEADER_BYTES):tvb(), pinfo, tree)
  end
end

-- For "Decode As...". QUIC's heuristic would claim all later packets between the same addresses and
-- ports, ours too; so QUIC packets go to QUIC from here, before it is asked. 0 leaves a packet to
-- other dissectors.
function octopus.dissector(tvb, pinfo, tree)
  if is_ours(tvb) then
    dissect(tvb, pinfo, tree)
    return tvb:len()
  end
  return is_quic(tvb) and quic:call(tvb, pinfo, tree) or 0
end
DissectorTable.get("udp.port"):add_for_decode_as(octopus)

octopus:register_heuristic("udp", function(tvb, pinfo, tree)
  if not is_ours(tvb) then return false end
  dissect(tvb, pinfo, tree)
  return true
end)
