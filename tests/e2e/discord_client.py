"""discord_client.py ROOT GATEWAY TOKEN - discord.py, unchanged but for two addresses: it connects, gets READY, hears a message, answers it, and
posts a file. Run by test_bot_discord.py, to see that discord_server.py speaks as Discord does."""
import io
import sys

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

Route.BASE = sys.argv[1] + "/api/v10"
DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(sys.argv[2])
intents = discord.Intents.none()
intents.guilds = intents.guild_messages = intents.dm_messages = True
client = discord.Client(intents=intents)


@client.event
async def on_ready():
    print("ready", client.user.name, flush=True)


@client.event
async def on_message(m):
    if m.author == client.user:
        return
    print("heard", m.content, flush=True)
    nobody = discord.AllowedMentions.none()
    sent = await m.reply("you said **%s**" % m.content, allowed_mentions=nobody)
    more = await m.channel.send("and a file", file=discord.File(io.BytesIO(b"hello"), "a.txt"), allowed_mentions=nobody)
    print("sent", sent.reference.message_id == m.id, more.attachments[0].filename, flush=True)
    await client.close()


client.run(sys.argv[3], log_handler=None)
