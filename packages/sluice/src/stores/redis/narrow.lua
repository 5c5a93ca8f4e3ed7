--- load
local value = pcall('GET', key)
«cells» = «zeros»
if value and type(value) ~= 'string' then
  failure = value.err
elseif value then
  local at = 1
  if sub(value, 1, 2) == '!!' and #value >= 10 then blocked_until, at = unpack_struct('<d', value, 3) end
  if #value == at + ROW and sub(value, at, at + 2) == ARGV[2] then «cells» = unpack_struct(FORMAT, value, at + 3) end
end
--- save
local value = ARGV[2] .. pack(FORMAT, «cells»)
if blocked_until > now - keep then value = '!!' .. pack('<d', blocked_until) .. value end
local result = pcall('PSETEX', key, ttl, value)
if type(result) == 'table' and result.err then failure = result.err end
